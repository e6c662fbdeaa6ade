"""The API of Apertium's APy."""

import pytest
from tiny_servers import HOUSE, offline, serving


@pytest.fixture(scope="module")
def client():
    with serving() as client:
        yield client


def test_translate(client):
    expected = {
        "responseData": {"translatedText": offline([HOUSE])[0]["text"]},
        "responseDetails": None,
        "responseStatus": 200,
    }
    asked = {"q": HOUSE, "langpair": "de|en", "markUnknown": "no"}
    assert client.get("/translate", params=asked).json() == expected
    assert client.post("/translate", data=asked).json() == expected


def test_html(client):
    asked = {"q": "<i>das Haus</i> ist", "langpair": "de|en", "format": "html"}
    text = client.get("/translate", params=asked).json()["responseData"]["translatedText"]
    assert text.count("<i>") == text.count("</i>") == 1


@pytest.mark.parametrize(
    "asked", [{"q": "x", "langpair": "de-en"}, {"q": "x", "langpair": "fr|en"}, {"q": "x"}, {}]
)
def test_errors_are_apertium_s(client, asked):
    response = client.get("/translate", params=asked)
    assert response.status_code == 400
    assert response.json()["status"] == "error"
    assert response.json()["code"] == 400


def test_pairs(client):
    pairs = [{"sourceLanguage": "de", "targetLanguage": "en"}]
    for path in ("/listPairs", "/list", "/list?q=pairs"):
        answer = client.get(path).json()
        assert answer == {"responseData": pairs, "responseDetails": None, "responseStatus": 200}
    assert client.get("/list?q=analyzers").json() == {}
