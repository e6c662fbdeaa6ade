"""Our own API."""

import json
from urllib.parse import unquote

import pytest
from tiny_servers import FORCED, HOUSE, assert_same_json, offline, served, serving
from tiny_translators import TEXTS, translator_of

from btg_seq2seq import Rule, Translation
from btg_seq2seq.workbench.limits import Limits


@pytest.fixture(scope="module")
def client():
    with serving(served(), served("other", ("en", "de"), "word")) as client:
        yield client


def translate(client, **request):
    response = client.post("/v1/translate", json=request)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_translations_are_those_of_the_command(client, mode):
    answer = translate(client, texts=TEXTS, mode=mode, nbest=2)
    assert answer["model"] == "tiny"
    assert answer["mode"] == mode
    assert_same_json(answer["translations"], json.loads(json.dumps(offline(TEXTS, mode, nbest=2))))


def test_rules_are_obeyed(client):
    answer = translate(client, texts=[HOUSE, "it"], rules=[FORCED])
    assert answer["mode"] == "cky"
    rule = Rule("Haus", "dog", place="rules[0]")
    expected = offline([HOUSE, "it"], "cky", [rule])
    assert_same_json(answer["translations"], json.loads(json.dumps(expected)))
    assert "dog" in answer["translations"][0]["text"]
    assert answer["problems"] == []


def test_rules_that_do_nothing_are_reported(client):
    rules = [FORCED, {"source": "Haus", "target": "garden"}, {"source": "Katze", "mode": "keep"}]
    problems = translate(client, texts=[HOUSE], rules=rules)["problems"]
    assert "contradicts" in problems[0]
    assert "matched nothing" in problems[1]
    assert len(problems) == 2


def test_a_sentence_is_encoded_once_for_all_rules(client):
    cache = client.service.models.named("tiny").cache
    text = "in the garden , the dog"
    plain = translate(client, texts=[text], mode="cky")
    hits = cache.hits
    ruled = translate(client, texts=[text], rules=[{"source": "garden", "target": "Haus"}])
    assert cache.hits == hits + 1
    assert "Haus" in ruled["translations"][0]["text"]
    assert translate(client, texts=[text], mode="cky") == plain


def test_pictures(client):
    answer = translate(client, texts=[HOUSE, ""], mode="cky", explain=True)
    first, second = answer["translations"]
    assert first["svg"].startswith("<svg ")
    assert second["svg"] is None
    drawn = Translation.from_json(first).draw().svg
    assert first["svg"] == drawn
    matrix = translate(client, texts=[HOUSE], explain={"view": "matrix", "theme": "dark"})
    assert matrix["translations"][0]["svg"] != drawn
    assert "svg" not in translate(client, texts=[HOUSE])["translations"][0]


def test_a_permalink_repeats_the_request(client):
    answer = translate(client, texts=[HOUSE], rules=[FORCED], nbest=2)
    assert answer["permalink"].startswith("/#")
    request = json.loads(unquote(answer["permalink"].removeprefix("/#")))
    assert request == answer["request"]
    assert translate(client, **request) == answer


def test_another_model(client):
    answer = translate(client, texts=["the dog saw"], model="other")
    assert_same_json(
        answer["translations"], json.loads(json.dumps(offline(["the dog saw"], kind="word")))
    )
    response = client.post("/v1/translate", json={"texts": [], "model": "none"})
    assert response.status_code == 400
    assert "there are tiny, other" in response.json()["error"]


@pytest.mark.parametrize(
    ("request_body", "message"),
    [
        ({"texts": "one string"}, "texts"),
        ({"text": ["misspelt"]}, "text"),
        ({"texts": ["a"], "nbest": 99}, "beam size"),
        ({"texts": ["a"], "nbest": 0}, "nbest"),
        ({"texts": ["a"], "mode": "flat", "rules": [FORCED]}, "flat translation cannot obey rules"),
        ({"texts": ["a"], "rules": [{"source": "a"}]}, "rules[0]"),
        ({"texts": ["a"], "rules": [{"source": "a", "target": "b", "mode": "?"}]}, "rules.0.mode"),
        ({"texts": ["fine", "a " * 5000]}, "sentence 1"),
        ({"texts": ["a"], "explain": {"view": "cube"}}, "explain"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(client, request_body, message):
    response = client.post("/v1/translate", json=request_body)
    assert response.status_code in (400, 422)
    assert message in response.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"texts": ["\\ud800"]}', b"\xff\xfe"])
def test_broken_bodies_are_refused(client, body):
    headers = {"Content-Type": "application/json"}
    response = client.post("/v1/translate", content=body, headers=headers)
    assert response.status_code in (400, 422)
    assert response.json()["error"]


def test_limits(client):
    with serving(limits=Limits(sentences=2, rules=1)) as limited:
        assert limited.post("/v1/translate", json={"texts": ["a"] * 3}).status_code == 413
        two = [FORCED, {"source": "ist", "target": "is"}]
        response = limited.post("/v1/translate", json={"texts": ["a"], "rules": two})
        assert response.status_code == 413
        schemas = limited.get("/openapi.json").json()["components"]["schemas"]
        properties = schemas["TranslateRequest"]["properties"]
        assert (properties["texts"]["maxItems"], properties["rules"]["maxItems"]) == (2, 1)


def test_long_sentences_are_translated_flat_with_a_flag(client):
    text = "the dog " * 51
    found = translate(client, texts=[text], mode="cky")["translations"][0]
    assert "max_cky_length" in found["fallback"]
    assert "btg_fallbacks_total" in client.get("/metrics").text


def test_align(client):
    pairs = [{"source": "the dog saw", "target": "das Haus ist"}, {"source": "", "target": ""}]
    response = client.post("/v1/align", json={"pairs": pairs, "explain": True})
    first, second = response.json()["alignments"]
    (expected,) = translator_of("bpe").align(["the dog saw"], ["das Haus ist"])
    assert first["pharaoh"] == expected.to_pharaoh()
    assert first["derivation"]["tree"] == str(expected.derivation.tree)
    assert first["svg"]
    assert second["derivation"] is None


def test_score(client):
    pairs = [{"source": "the dog saw", "target": "das Haus"}, {"source": "", "target": "it"}]
    first, second = client.post("/v1/score", json={"pairs": pairs}).json()["scores"]
    (expected,) = translator_of("bpe").score(["the dog saw"], ["das Haus"])
    assert first["flat_log_prob"] == pytest.approx(expected.flat_log_prob, abs=1e-3)
    assert first["cky_log_prob"] == pytest.approx(expected.cky_log_prob, abs=1e-3)
    assert second["flat_log_prob"] is None


def test_models_health_and_metrics(client):
    models = client.get("/v1/models").json()["models"]
    assert [model["name"] for model in models] == ["tiny", "other"]
    assert [model["examples"] for model in models] == [[], []]
    assert client.get("/health").json() == {"status": "ok", "models": 2}
    text = client.get("/metrics").text
    assert 'btg_requests_total{route="/health",status="200"}' in text
    assert "btg_batch_sentences_bucket" in text
