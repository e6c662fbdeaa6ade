"""Translation through queues and limits."""

import asyncio

import pytest
from tiny_servers import HOUSE, served
from tiny_translators import TEXTS, same, translator_of

from btg_seq2seq import Rule
from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.models import Models
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Service


@pytest.fixture(scope="module")
def service():
    service = Service(Models([served()]), Limits(sentences=50, rules=2))
    yield service
    service.scheduler.close()


def test_concurrent_requests_have_the_answers_they_have_alone(service):
    model = service.models.named(None)
    asked = [
        *((text, mode, []) for text in TEXTS for mode in ("flat", "cky")),
        (HOUSE, "cky", [Rule("Haus", "dog")]),
        (HOUSE, "cky", [Rule("klein", "garden")]),
    ]

    async def main():
        return await asyncio.gather(
            *(service.translate(model, [text], mode, rules) for text, mode, rules in asked * 3)
        )

    for found, (text, mode, rules) in zip(asyncio.run(main()), asked * 3, strict=True):
        (expected,) = translator_of("bpe").translate([text], mode, rules)
        same(found.translations[0], expected)


def test_limits_and_modes(service):
    model = service.models.named(None)

    def translate(*arguments):
        return asyncio.run(service.translate(model, *arguments))

    assert translate([], "flat").translations == []
    assert translate(["it"], None, [Rule("it", "x")]).mode == "cky"
    for texts, rules in ((["it"] * 51, []), (["it"], [Rule(name, "x") for name in "abc"])):
        with pytest.raises(Problem) as caught:
            translate(texts, None, rules)
        assert caught.value.status == 413
    with pytest.raises(UserError, match="flat"):
        translate(["it"], "flat", [Rule("it", "x")])
    with pytest.raises(UserError, match="beam size, not 9"):
        translate(["it"], "flat", [], 9)
