"""Glossaries of DeepL's API, versions 2 and 3."""

import pytest
from tiny_servers import serving

from btg_seq2seq.workbench.api.deepl_glossaries import parsed_entries, to_tsv
from btg_seq2seq.workbench.glossaries import GlossaryStore
from btg_seq2seq.workbench.problems import Problem

NEW = {"source_lang": "DE", "target_lang": "EN", "entries": "Haus\thouse\nist\tis"}
BACK = {"source_lang": "en", "target_lang": "de", "entries": "house,Haus", "entries_format": "csv"}


@pytest.fixture(scope="module")
def client():
    with serving(store=GlossaryStore(most_entries=10)) as client:
        yield client


@pytest.fixture(autouse=True)
def own_key(client, request):
    client.headers["Authorization"] = f"DeepL-Auth-Key {request.node.name}"


def test_version_2(client):
    made = client.post("/v2/glossaries", json={"name": "g", **NEW})
    assert made.status_code == 201
    glossary = made.json()
    assert (glossary["source_lang"], glossary["target_lang"]) == ("de", "en")
    assert (glossary["entry_count"], glossary["ready"]) == (2, True)
    path = f"/v2/glossaries/{glossary['glossary_id']}"
    assert client.get(path).json() == glossary
    assert client.get("/v2/glossaries").json() == {"glossaries": [glossary]}
    assert client.get(f"{path}/entries").text == NEW["entries"]
    form = client.post("/v2/glossaries", data={"name": "h", **NEW})
    assert form.status_code == 201
    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 404
    assert client.get(path).json() == {"message": "there is no such glossary"}
    assert client.get(f"{path}/entries").status_code == 404


def test_version_3(client):
    made = client.post("/v3/glossaries", json={"name": "g", "dictionaries": [NEW, BACK]})
    assert made.status_code == 201
    counts = [one["entry_count"] for one in made.json()["dictionaries"]]
    assert counts == [2, 1]
    path = f"/v3/glossaries/{made.json()['glossary_id']}"
    assert client.get(path).json() == made.json()
    pair = {"source_lang": "de", "target_lang": "EN"}
    (dictionary,) = client.get(f"{path}/entries", params=pair).json()["dictionaries"]
    assert dictionary["entries"] == NEW["entries"]
    more = {**NEW, "entries": "klein\tsmall\nHaus\thome"}
    changed = client.patch(path, json={"name": "h", "dictionaries": [more]}).json()
    assert (changed["name"], changed["dictionaries"][0]["entry_count"]) == ("h", 3)
    replaced = client.put(f"{path}/dictionaries", json={**NEW, "entries": "a\tb"})
    assert replaced.json() == {"source_lang": "de", "target_lang": "en", "entry_count": 1}
    assert client.delete(f"{path}/dictionaries", params=pair).status_code == 204
    assert client.delete(f"{path}/dictionaries", params=pair).status_code == 404
    assert client.get(f"{path}/entries", params=pair).status_code == 404
    # What is left has one pair, which version 2 can show.
    assert client.get(path.replace("v3", "v2")).json()["source_lang"] == "en"
    assert client.delete(path).status_code == 204
    assert client.get("/v3/glossaries").json() == {"glossaries": []}


def test_version_2_does_not_show_glossaries_of_several_pairs(client):
    made = client.post("/v3/glossaries", json={"name": "g", "dictionaries": [NEW, BACK]}).json()
    assert client.get("/v2/glossaries").json() == {"glossaries": []}
    assert client.get(f"/v2/glossaries/{made['glossary_id']}").status_code == 404


def test_keys_have_glossaries_of_their_own(client):
    made = client.post("/v2/glossaries", json={"name": "g", **NEW}).json()
    for version in (2, 3):
        path = f"/v{version}/glossaries/{made['glossary_id']}"
        headers = {"Authorization": "DeepL-Auth-Key other"}
        assert client.get(path, headers=headers).status_code == 404
        assert client.delete(path, headers=headers).status_code == 404
        assert client.get(path).status_code == 200


def test_language_pairs(client):
    pairs = client.get("/v2/glossary-language-pairs").json()["supported_languages"]
    assert pairs == [{"source_lang": "de", "target_lang": "en"}]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"entries": ""},
        {"entries": "Haus"},
        {"entries": "Haus\t"},
        {"entries": "a\tb\tc"},
        {"entries": "a\tb\na\tc"},
        {"entries": "a\x07\tb"},
        {"entries": "a" * 2000 + "\tb"},
        {"entries": '"a,b', "entries_format": "csv"},
        {"entries_format": "xml"},
        {"source_lang": ""},
    ],
)
def test_wrong_glossaries_are_refused(client, fields):
    response = client.post("/v2/glossaries", json={"name": "g", **NEW, **fields})
    assert response.status_code == 400, response.text
    assert response.json()["message"]


def test_wrong_glossaries_of_several_pairs(client):
    twice = client.post("/v3/glossaries", json={"name": "g", "dictionaries": [NEW, NEW]})
    assert twice.status_code == 400
    none = client.post("/v3/glossaries", json={"name": "g", "dictionaries": []})
    assert none.status_code == 400
    assert client.patch("/v3/glossaries/none", json={"name": "g"}).status_code == 404
    assert client.put("/v3/glossaries/none/dictionaries", json=NEW).status_code == 404


def test_glossaries_are_limited(client):
    entries = "\n".join(f"a{number}\tb" for number in range(11))
    response = client.post("/v2/glossaries", json={"name": "g", **NEW, "entries": entries})
    assert response.status_code == 413


def test_entries():
    assert parsed_entries('a,"b, ""c"""\n\n d  e ,f,de,en\n', "csv") == {"a": 'b, "c"', "d e": "f"}
    assert parsed_entries('"a"\tb\n', "tsv") == {'"a"': "b"}
    assert parsed_entries(to_tsv({"a": "b", "c d": "e"}), "tsv") == {"a": "b", "c d": "e"}
    with pytest.raises(Problem, match="line 2"):
        parsed_entries("a\tb\nc", "tsv")
