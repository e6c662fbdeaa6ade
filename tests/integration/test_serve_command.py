"""``btg serve`` as a process, and real clients of the APIs that it speaks."""

import json
import socket
import subprocess
import sys
import urllib.parse
import urllib.request

import deepl
import httpx
import libretranslatepy
import pytest

from benchmarks.running_server import running
from btg_seq2seq import Translator
from btg_seq2seq.cli.main import main

HOUSE = "das Haus ist klein, von Grund auf"
KEY = "a key for the tests"

deepl.http_client.min_connection_timeout = 120.0  # a busy machine is no error


@pytest.fixture(scope="module")
def server(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("server")
    (place / "keys").write_text(f"{KEY}\n", encoding="utf-8")
    options = ["--threads", "1", "--key-file", str(place / "keys")]
    options += ["--glossaries", str(place / "glossaries.sqlite")]
    with running(f"tiny={model}:de-en", *options) as server:
        yield server


@pytest.fixture(scope="module")
def translator(model):
    return Translator.from_pretrained(model)


def test_the_official_client_of_deepl(server, translator):
    client = deepl.DeepLClient(KEY, server_url=server.address)
    (plain,) = translator.translate([HOUSE])
    result = client.translate_text(HOUSE, target_lang="EN-US")
    assert result.text == plain.text
    assert result.detected_source_lang == "DE"
    assert result.billed_characters == len(HOUSE)
    several = client.translate_text(
        [HOUSE, "<b>das</b> Haus"], target_lang="EN-GB", tag_handling="xml"
    )
    assert several[0].text == plain.text
    assert several[1].text.count("<b>") == 1
    assert [language.code for language in client.get_source_languages()] == ["DE"]
    assert [language.code for language in client.get_target_languages()] == ["EN"]
    assert client.get_glossary_languages()[0].target_lang == "en"
    assert not client.get_usage().any_limit_reached


def test_glossaries_of_the_official_client(server):
    client = deepl.DeepLClient(KEY, server_url=server.address)
    entries = {"Haus": "dog", "von Grund auf": "in the garden"}
    made = client.create_glossary("g", "DE", "EN-US", entries)
    assert (made.entry_count, made.ready) == (2, True)
    assert client.get_glossary(made.glossary_id).name == "g"
    assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
    assert client.get_glossary_entries(made) == entries
    result = client.translate_text(HOUSE, source_lang="DE", target_lang="EN-US", glossary=made)
    assert "dog" in result.text
    assert "in the garden" in result.text
    client.delete_glossary(made)
    with pytest.raises(deepl.exceptions.GlossaryNotFoundException):
        client.get_glossary(made.glossary_id)


def test_glossaries_of_several_languages(server):
    client = deepl.DeepLClient(KEY, server_url=server.address)
    entries = deepl.api_data.MultilingualGlossaryDictionaryEntries("de", "en", {"Haus": "dog"})
    made = client.create_multilingual_glossary("g", [entries])
    assert client.list_multilingual_glossaries()[0].glossary_id == made.glossary_id
    more = deepl.api_data.MultilingualGlossaryDictionaryEntries("de", "en", {"klein": "garden"})
    changed = client.update_multilingual_glossary_dictionary(made, more)
    assert changed.dictionaries[0].entry_count == 2
    found = client.get_multilingual_glossary_entries(made, "de", "en").dictionaries[0].entries
    assert found == "Haus\tdog\nklein\tgarden"
    client.update_multilingual_glossary_name(made, "h")
    assert client.get_multilingual_glossary(made.glossary_id).name == "h"
    replaced = client.replace_multilingual_glossary_dictionary(made, entries)
    assert replaced.entry_count == 1
    result = client.translate_text(HOUSE, source_lang="DE", target_lang="EN-US", glossary=made)
    assert "dog" in result.text
    client.delete_multilingual_glossary_dictionary(made, source_lang="de", target_lang="en")
    client.delete_multilingual_glossary(made)
    assert client.list_multilingual_glossaries() == []


def test_a_wrong_key(server):
    with pytest.raises(deepl.exceptions.AuthorizationException):
        deepl.DeepLClient("wrong", server_url=server.address).get_usage()


def test_libretranslatepy(server, translator):
    client = libretranslatepy.LibreTranslateAPI(server.address, KEY)
    (plain,) = translator.translate([HOUSE])
    assert client.translate(HOUSE, "de", "en") == plain.text
    assert client.detect(HOUSE) == [{"language": "de", "confidence": 0.0}]
    assert client.languages()[0] == {"code": "de", "name": "German", "targets": ["en"]}


def test_requests_as_weblate_sends_them(server, translator):
    """JSON to /translate and /detect; the languages come from /languages with their targets."""
    with httpx.Client(base_url=server.address) as client:
        languages = client.get("/languages").json()
        pairs = [(one["code"], target) for one in languages for target in one["targets"]]
        assert pairs == [("de", "en")]
        request = {"api_key": KEY, "q": HOUSE, "source": "de", "target": "en", "format": "text"}
        answer = client.post("/translate", json=request).json()
        assert answer["translatedText"] == translator.translate([HOUSE])[0].text
        # Weblate protects placeholders itself, as HTML.
        text = 'das <span translate="no" id="7">%s</span> Haus'
        answer = client.post("/translate", json={**request, "q": text, "format": "html"}).json()
        assert '<span translate="no" id="7">%s</span>' in answer["translatedText"]


def test_requests_as_omegat_sends_them(server, translator):
    """Apertium: GET with langpair, and unknown words unmarked."""
    query = urllib.parse.urlencode(
        {"q": HOUSE, "markUnknown": "no", "langpair": "de|en", "key": KEY}
    )
    with urllib.request.urlopen(f"{server.address}/translate?{query}") as response:
        answer = json.load(response)
    assert answer["responseStatus"] == 200
    assert answer["responseData"]["translatedText"] == translator.translate([HOUSE])[0].text
    with urllib.request.urlopen(f"{server.address}/listPairs") as response:
        pairs = json.load(response)["responseData"]
    assert pairs == [{"sourceLanguage": "de", "targetLanguage": "en"}]


def test_glossaries_survive_and_requests_are_finished(model, tmp_path):
    options = ["--threads", "1", "--glossaries", str(tmp_path / "glossaries.sqlite")]
    with running(f"tiny={model}:de-en", *options) as server:
        client = deepl.DeepLClient(KEY, server_url=server.address)
        made = client.create_glossary("g", "DE", "EN", {"Haus": "dog"})
        request = {"texts": [f"{HOUSE} {number}" for number in range(12)], "mode": "cky"}
        url = f"{server.address}/v1/translate"
        script = (
            "import httpx, sys, json; "
            f"answer = httpx.post({url!r}, json=json.loads(sys.argv[1]), timeout=100); "
            "print(answer.status_code, len(answer.json()['translations']))"
        )
        asking = subprocess.Popen(
            [sys.executable, "-c", script, json.dumps(request)], stdout=subprocess.PIPE, text=True
        )
        busy = 'btg_batch_sentences_count{lane="cky"}'
        for _ in range(400):  # until the request has arrived
            metrics = httpx.get(f"{server.address}/metrics").text
            if busy in metrics:
                break
        assert server.stop() == 0
        assert asking.communicate(timeout=100)[0].split() == ["200", "12"]
    with running(f"tiny={model}:de-en", *options) as server:
        client = deepl.DeepLClient(KEY, server_url=server.address)
        assert client.get_glossary(made.glossary_id).name == "g"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the directory of a model, or use --demo"),
        (["nowhere"], "nowhere holds no model"),
        (["{model}", "--languages", "german"], "no pair of languages"),
        (["{model}", "{model}"], "two models have the name"),
        (["{model}", "--port", "99999"], "--port must lie between"),
        (["{model}", "--key-file", "{model}/config.json.none"], "No such file"),
        (["{model}", "--limits.sentences", "0"], "sentences must be 1 or more"),
        (["{model}", "--port", "{taken}"], "choose another --port"),
        (["--demo", "--port", "{taken}"], "choose another --port"),
        (["{model}", "--host", "300.1.1.1"], "choose another --host"),
        (["{model}/config.json"], "holds no model: it is no directory"),
    ],
)
def test_what_is_wrong_is_said_at_once(model, arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        values = {"model": model, "taken": taken.getsockname()[1]}
        assert main(["serve", *(argument.format(**values) for argument in arguments)]) in (1, 2)
    assert message in capsys.readouterr().err
