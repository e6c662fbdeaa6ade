"""The API of LibreTranslate."""

import pytest
from tiny_servers import HOUSE, offline, served, serving


@pytest.fixture(scope="module")
def client():
    with serving(served(), served("back", ("en", "de"), "word")) as client:
        yield client


def ask(client, status=200, **fields):
    response = client.post("/translate", json=fields)
    assert response.status_code == status, response.text
    return response.json()


def test_a_text_and_a_list(client):
    text = offline([HOUSE])[0]["text"]
    assert ask(client, q=HOUSE, source="de", target="en") == {"translatedText": text}
    both = ask(client, q=[HOUSE, ""], source="de", target="en-GB", format="text")
    assert both == {"translatedText": [text, ""]}


def test_a_form(client):
    fields = {"q": HOUSE, "source": "de", "target": "en", "api_key": ""}
    for kind in ({"data": fields}, {"files": {name: (None, own) for name, own in fields.items()}}):
        response = client.post("/translate", **kind)
        assert response.json() == {"translatedText": offline([HOUSE])[0]["text"]}


def test_languages_choose_the_model(client):
    (expected,) = offline(["the dog saw"], kind="word")
    found = ask(client, q="the dog saw", source="en", target="de")
    assert found["translatedText"] == expected["text"]
    assert "de" in ask(client, 400, q="x", source="fr", target="de")["error"]
    assert "error" in ask(client, 400, q="x", source="de")


def test_auto_takes_the_source_language_of_the_model(client):
    answer = ask(client, q=HOUSE, source="auto", target="en")
    assert answer["detectedLanguage"] == {"language": "de", "confidence": 0.0}
    several = ask(client, q=["it", "it"], source="auto", target="en")
    assert len(several["detectedLanguage"]) == 2


def test_alternatives(client):
    answer = ask(client, q=HOUSE, source="de", target="en", alternatives=2)
    (expected,) = offline([HOUSE], nbest=3)
    others = [one["text"] for one in expected["alternatives"]]
    assert answer["alternatives"] == [one for one in others if one != expected["text"]]
    assert ask(client, q=["it"], source="de", target="en", alternatives=1)["alternatives"]
    assert (
        "beam size" in ask(client, 400, q="it", source="de", target="en", alternatives=99)["error"]
    )


def test_html(client):
    text = "<p>das <b>Haus</b> ist klein</p>"
    answer = ask(client, q=text, source="de", target="en", format="html")["translatedText"]
    for tag in ("<p>", "<b>", "</b>", "</p>"):
        assert answer.count(tag) == 1


def test_white_space_and_placeholders_are_kept(client):
    answer = ask(client, q=" das Haus {name}\n\n  ist", source="de", target="en")["translatedText"]
    assert answer.count("{name}") == 1
    assert answer.startswith(" ")
    assert "\n\n  " in answer


def test_languages(client):
    assert client.get("/languages").json() == [
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]


def test_detection_is_honest(client):
    found = [{"language": tag, "confidence": 0.0} for tag in ("de", "en")]
    assert client.post("/detect", json={"q": "x"}).json() == found
    assert client.post("/detect", data={"q": "x"}).json() == found
    assert client.post("/detect", json={"q": ["x", "y"]}).json() == [found, found]
    assert client.post("/detect", json={}).status_code == 400


def test_settings_for_pages(client):
    settings = client.get("/frontend/settings").json()
    assert settings["language"]["source"]["code"] == "de"
    assert settings["keyRequired"] is False


def test_models_without_languages_have_the_code_und():
    with serving(served(pair=("und", "und"))) as client:
        assert client.get("/languages").json()[0]["code"] == "und"
        assert ask(client, q="it", source="auto", target="und")["translatedText"]
        error = ask(client, 400, q="it", source="de", target="en")["error"]
        assert "started without languages" in error
