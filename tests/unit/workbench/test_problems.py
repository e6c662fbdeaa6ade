"""Errors as answers, in the words of each API."""

import pytest
from tiny_servers import serving

from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.problems import Problem, problem_of
from btg_seq2seq.workbench.scheduler import BusyError, ClosedError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Problem(418, "a teapot"), 418),
        (UserError("two\nlines"), 400),
        (BusyError(7), 429),
        (ClosedError("closing"), 503),
        (TimeoutError(), 504),
        (KeyError("secret"), 500),
    ],
)
def test_every_error_has_a_status(error, status):
    problem = problem_of(error)
    assert problem.status == status
    assert "\n" not in problem.message
    assert "secret" not in problem.message


def test_busy_servers_say_when_to_come_back():
    assert problem_of(BusyError(7)).headers == {"Retry-After": "7"}


def test_each_api_writes_errors_in_its_own_way(monkeypatch):
    with serving() as client:
        fails = BusyError(3)

        async def refuse(*_, **__):
            raise fails

        monkeypatch.setattr(client.service, "translate", refuse)
        own = client.post("/v1/translate", json={"texts": ["it"]})
        assert own.status_code == 429
        assert own.headers["retry-after"] == "3"
        assert list(own.json()) == ["error"]
        libre = client.post("/translate", json={"q": "it", "source": "de", "target": "en"})
        assert list(libre.json()) == ["error"]
        deepl = client.post("/v2/translate", json={"text": ["it"], "target_lang": "EN"})
        assert deepl.status_code == 429
        assert list(deepl.json()) == ["message"]
        apertium = client.get("/translate", params={"q": "it", "langpair": "de|en"})
        assert apertium.json()["code"] == 429
        assert apertium.headers["retry-after"] == "3"
        fails = KeyError("secret")
        own = client.post("/v1/translate", json={"texts": ["it"]})
        assert own.status_code == 500
        assert "secret" not in own.text
    assert client.get("/nowhere").status_code == 404
