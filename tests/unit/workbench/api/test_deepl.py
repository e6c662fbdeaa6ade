"""Translation through DeepL's API."""

import pytest
from tiny_servers import HOUSE, offline, served, serving

from btg_seq2seq import Rule


@pytest.fixture(scope="module")
def client():
    with serving(served(), served("back", ("en", "de"), "word")) as client:
        client.headers["Authorization"] = "DeepL-Auth-Key a secret"
        yield client


def ask(client, status=200, **fields):
    response = client.post("/v2/translate", json=fields)
    assert response.status_code == status, response.text
    return response.json()


def glossary(client, entries="Haus\tdog"):
    made = {"name": "g", "source_lang": "de", "target_lang": "en", "entries": entries}
    return client.post("/v2/glossaries", json=made).json()["glossary_id"]


def test_translate(client):
    text = offline([HOUSE])[0]["text"]
    expected = [{"detected_source_language": "DE", "text": text}]
    assert ask(client, text=[HOUSE], target_lang="EN-US") == {"translations": expected}
    assert ask(client, text=HOUSE, target_lang="EN", source_lang="DE")["translations"] == expected
    form = {"text": [HOUSE, "it"], "target_lang": "EN", "show_billed_characters": "1"}
    both = client.post("/v2/translate", data=form).json()["translations"]
    assert [one["billed_characters"] for one in both] == [len(HOUSE), 2]


def test_languages_choose_the_model(client):
    text = offline(["the dog"], kind="word")[0]["text"]
    assert ask(client, text=["the dog"], target_lang="DE")["translations"][0]["text"] == text
    assert "message" in ask(client, 400, text=["x"], target_lang="FR")


def test_a_glossary_is_obeyed_in_any_case(client):
    identifier = glossary(client, "HAUS\tdog\nKatze\tcat")
    fields = {"text": [HOUSE], "source_lang": "DE", "target_lang": "EN"}
    found = ask(client, **fields, glossary_id=identifier)["translations"][0]["text"]
    rule = Rule("HAUS", "dog", case="insensitive")
    assert found == offline([HOUSE], rules=[rule])[0]["text"]
    assert ask(client, **fields, glossary_ids=[identifier])["translations"][0]["text"] == found


def test_glossaries_that_do_not_fit(client):
    identifier = glossary(client)
    assert (
        "source_lang"
        in ask(client, 400, text=["x"], target_lang="EN", glossary_id=identifier)["message"]
    )
    fields = {"text": ["x"], "source_lang": "EN", "target_lang": "DE"}
    assert "no entries" in ask(client, 400, **fields, glossary_id=identifier)["message"]
    assert ask(client, 404, **fields, glossary_id="none")
    headers = {"Authorization": "DeepL-Auth-Key of somebody else"}
    fields = {"text": ["x"], "source_lang": "DE", "target_lang": "EN", "glossary_id": identifier}
    assert client.post("/v2/translate", json=fields, headers=headers).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"formality": "more"},
        {"style_id": "x"},
        {"custom_instructions": ["rhyme"]},
        {"tag_handling": "pdf"},
        {"split_sentences": "2"},
        {"text": [3]},
        {"glossary_ids": ["x"] * 6},
    ],
)
def test_what_is_not_supported_is_refused(client, fields):
    assert ask(client, 400, **{"text": ["x"], "target_lang": "EN", **fields})["message"]


def test_what_asks_for_nothing_is_accepted(client):
    options = {"formality": "prefer_more", "context": "x", "preserve_formatting": True}
    assert ask(client, text=["it"], target_lang="EN", **options)


@pytest.mark.parametrize("kind", ["xml", "html"])
def test_tags(client, kind):
    text = "<p>das <b>Haus</b> ist</p>"
    answer = ask(client, text=[text], target_lang="EN", tag_handling=kind)
    for tag in ("<p>", "<b>", "</b>", "</p>"):
        assert answer["translations"][0]["text"].count(tag) == 1


@pytest.mark.parametrize("names", [["x", "y"], "x,y", "y, x"])
def test_elements_that_are_not_to_be_translated(client, names):
    text = 'das <x id="1"></x> Haus <y>ist <b>das</b></y> klein <x/>'
    answer = ask(client, text=[text], target_lang="EN", tag_handling="xml", ignore_tags=names)[
        "translations"
    ][0]["text"]
    for element in ('<x id="1"></x>', "<y>ist <b>das</b></y>", "<x/>"):
        assert answer.count(element) == 1
    fields = {"text": [text], "target_lang": "EN", "ignore_tags": [3]}
    assert ask(client, 400, **fields)["message"]


def test_sentences_are_cut_as_asked(client):
    for asked in (0, "1", "nonewlines", None):
        assert ask(client, text=["das Haus. Es ist."], target_lang="EN", split_sentences=asked)


def test_languages_and_usage(client):
    sources = [{"language": "DE", "name": "German"}, {"language": "EN", "name": "English"}]
    assert client.get("/v2/languages").json() == sources
    targets = client.get("/v2/languages", params={"type": "target"}).json()
    assert targets[0] == {"language": "EN", "name": "English", "supports_formality": False}
    in_body = client.request("GET", "/v2/languages", data={"type": "target"})
    assert in_body.json() == targets
    assert client.get("/v2/languages", params={"type": "x"}).status_code == 400
    assert client.get("/v2/usage").json()["character_count"] == 0
