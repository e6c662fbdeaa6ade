"""What every request passes through."""

import pytest
from tiny_servers import serving

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
