"""Fields of requests, wherever they are."""

import asyncio

import pytest
from fastapi import Request
from pydantic import BaseModel

from btg_seq2seq.workbench.api.bodies import checked, described, read_fields
from btg_seq2seq.workbench.problems import Problem


class Inner(BaseModel):
    value: int


class Outer(BaseModel):
    inner: list[Inner]


def request(body=b"", kind="application/json", query=b""):
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind.encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": query}
    return Request({**scope, "headers": headers}, receive)


def fields(*arguments, **options):
    return asyncio.run(read_fields(request(*arguments, **options)))


def test_fields_of_all_kinds():
    form = "application/x-www-form-urlencoded"
    assert fields(b'{"q": ["a"]}') == {"q": ["a"]}
    assert fields(b"q=a&q=b&r=%C3%A4", form) == {"q": ["a", "b"], "r": "ä"}
    assert fields(query=b"q=a&q=b") == {"q": ["a", "b"]}
    assert fields(b"q=a", form, query=b"q=b&r=c") == {"q": "a", "r": "c"}
    assert fields(b'{"q": "a"}', "text/plain; charset=utf-8") == {"q": "a"}


@pytest.mark.parametrize("body", [b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
def test_broken_bodies(body):
    with pytest.raises(Problem) as caught:
        fields(body)
    assert caught.value.status == 400


def test_errors_name_the_field_and_do_not_repeat_what_was_sent():
    with pytest.raises(Problem, match=r"inner\.0\.value") as caught:
        checked(Outer, {"inner": [{"value": "secret"}]})
    assert "secret" not in caught.value.message


def test_descriptions_refer_to_nothing():
    body = described(Outer)["requestBody"]["content"]["application/json"]["schema"]
    assert "$ref" not in str(body)
    assert body["properties"]["inner"]["items"]["properties"]["value"]["type"] == "integer"
