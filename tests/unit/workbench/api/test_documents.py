"""Texts of any length through the scheduler."""

import asyncio

import pytest
from tiny_servers import served
from tiny_translators import translator_of

from btg_seq2seq import Rule
from btg_seq2seq.translation.documents.document import translate_documents as offline_documents
from btg_seq2seq.workbench.api.documents import translate_documents
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.models import Models
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Service

TEXTS = [
    "das Haus ist klein. The dog saw {name}.\n\n  in the garden",
    "",
    "<p>das <b>Haus</b> ist <i>klein</i></p>",
]


@pytest.fixture(scope="module")
def service():
    service = Service(Models([served()]), Limits(sentences=20))
    yield service
    service.scheduler.close()


def translate(service, texts, **options):
    model = service.models.named(None)
    return asyncio.run(translate_documents(service, model, texts, **options))


@pytest.mark.parametrize("markup", ["text", "html", "xml"])
@pytest.mark.parametrize("cut", ["none", "lines", "paragraphs"])
@pytest.mark.parametrize("rules", [[], [Rule("Haus", "dog")]])
def test_documents_are_those_of_the_translator(service, markup, cut, rules):
    options = {"rules": rules, "markup": markup, "cut": cut}
    found = translate(service, TEXTS, **options)
    expected = offline_documents(translator_of("bpe"), TEXTS, language="de", **options)
    assert [one.text for one in found] == [one.text for one in expected]


def test_alternatives_differ(service):
    (found,) = translate(service, ["das Haus. It is."], nbest=3)
    assert len({found.text, *found.alternatives}) == 1 + len(found.alternatives)


def test_the_number_of_sentences_is_limited(service):
    with pytest.raises(Problem) as caught:
        translate(service, ["the dog saw it.\n" * 21])
    assert caught.value.status == 413
