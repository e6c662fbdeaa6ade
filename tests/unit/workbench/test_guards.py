"""What every request passes through."""

import json
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import pytest
from live_servers import listening
from tiny_servers import served, serving

from btg_seq2seq.workbench.limits import Limits

TEXTS = {"texts": ["it"]}


@pytest.fixture(scope="module")
def client():
    with serving(limits=Limits(body_bytes=1000), origins=["https://example.org"]) as client:
        yield client


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"])
def test_names_of_the_server(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "[", "a:b:c"])
def test_other_names_are_refused(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("origin", [None, "http://localhost", "https://example.org"])
def test_pages_of_this_server_may_send_requests(client, origin):
    headers = {} if origin is None else {"Origin": origin}
    assert client.post("/v1/translate", json=TEXTS, headers=headers).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9"])
def test_pages_of_other_sites_may_not(client, origin):
    response = client.post("/v1/translate", json=TEXTS, headers={"Origin": origin})
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers


def test_cross_origin_requests_are_off_unless_allowed(client):
    headers = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    allowed = client.options("/v1/translate", headers=headers)
    assert allowed.headers["access-control-allow-origin"] == "https://example.org"
    with serving() as other:
        response = other.options("/v1/translate", headers=headers)
        assert "access-control-allow-origin" not in response.headers


def test_a_body_that_is_too_long_is_refused(client):
    long = {"texts": ["x" * 1000]}
    assert client.post("/v1/translate", json=long).status_code == 413
    headers = {"Content-Length": "12x"}
    assert client.post("/v1/translate", content=b"", headers=headers).status_code == 413


@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/v2/translate"])
def test_a_body_without_a_length_is_counted(client, path):
    read = []

    def body():
        for _ in range(1000):
            read.append(1)
            yield b" " * 100

    headers = {"Content-Type": "application/json"}
    response = client.post(path, content=body(), headers=headers)
    assert response.status_code == 413


def test_nothing_is_loaded_from_elsewhere(client):
    for path in ("/", "/health", "/nowhere", "/v1/translate"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert client.get(path).headers["x-content-type-options"] == "nosniff"


class GatedTranslation:
    """Flat translation that waits at a gate and remembers its batches."""

    def __init__(self, model):
        self.translate, self.gate, self.batches = model.translate_flat, threading.Event(), []
        model.translate_flat = self

    def __call__(self, items):
        self.batches.append([item.text for item in items])
        assert self.gate.wait(20)
        return self.translate(items)


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def waiting(address):
    lines = httpx.get(f"{address}metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(WAITING))


WAITING = 'btg_waiting_sentences{lane="flat"}'
REQUESTS = {
    "own": ("POST", "/v1/translate", json.dumps({"texts": ["two", "three"], "mode": "flat"})),
    "apertium": ("GET", "/translate?q=two&langpair=de%7Cen", ""),
}


@pytest.mark.parametrize("api", REQUESTS)
def test_sentences_of_a_client_that_left_are_not_translated(api):
    method, path, body = REQUESTS[api]
    model = served()
    gated = GatedTranslation(model)
    answers = []

    def ask():
        asked = {"texts": ["one"], "mode": "flat"}
        answers.append(httpx.post(f"{address}v1/translate", json=asked, timeout=30))

    with listening(model) as address:
        first = threading.Thread(target=ask)
        first.start()
        until(lambda: gated.batches)
        place = urlsplit(address)
        with socket.create_connection((place.hostname, place.port)) as leaving:
            head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            leaving.sendall((head + body).encode())
            until(lambda: waiting(address) > 0)
        until(lambda: waiting(address) == 0)
        gated.gate.set()
        first.join(30)
        until(lambda: 'status="499"' in httpx.get(f"{address}metrics").text)
    assert gated.batches == [["one"]]
    assert answers[0].status_code == 200
