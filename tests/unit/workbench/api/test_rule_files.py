"""Glossary files through the server."""

import pytest
from tiny_servers import served, serving

from btg_seq2seq.workbench.limits import Limits

RULES = [
    {"source": "das Haus", "target": ["house", "home"], "mode": "prefer", "case": "follow"},
    {"source": "GmbH", "target": [], "mode": "keep", "case": "sensitive"},
]


@pytest.fixture(scope="module")
def client():
    with serving(served(), limits=Limits(rules=3)) as client:
        yield client


@pytest.mark.parametrize("form", ["tsv", "csv", "tbx", "tmx"])
def test_rules_go_out_and_come_back(client, form):
    request = {"rules": RULES, "format": form, "source": "de", "target": "en"}
    file = client.post("/v1/rules/export", json=request)
    assert file.status_code == 200
    assert file.headers["content-disposition"] == f'attachment; filename="rules.{form}"'
    answer = client.post(
        "/v1/rules/import",
        params={"format": form, "source": "de", "target": "en"},
        content=file.content,
    )
    assert answer.json() == {"rules": RULES}


def test_upper_and_lower_case_match_alike_unless_the_file_says_otherwise(client):
    answer = client.post("/v1/rules/import", content=b"a\tb\nc\td\tforce\tsensitive\n")
    assert [rule["case"] for rule in answer.json()["rules"]] == ["insensitive", "sensitive"]


@pytest.mark.parametrize(
    ("params", "content", "status"),
    [
        ({"format": "tbx"}, b"<!DOCTYPE r [<!ENTITY a 'b'>]><r>&a;</r>", 400),
        ({"format": "tbx"}, b"no xml", 400),
        ({"format": "exe"}, b"", 422),
        ({"format": "tmx", "source": "../.."}, b"<tmx/>", 400),
        ({}, b"\xff\xfe", 400),
        ({}, b"a\tb\n" * 5, 413),
    ],
)
def test_files_that_are_refused(client, params, content, status):
    answer = client.post("/v1/rules/import", params=params, content=content)
    assert answer.status_code == status
    assert answer.json()["error"]
