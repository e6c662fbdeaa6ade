"""Texts of any length through the scheduler: taken apart, translated, put together again.

As ``translate_documents`` in ``translation.documents``, but sentences wait for their turn among
those of other requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from btg_seq2seq.translation.documents.document import (
    Document,
    Sentence,
    protected_spans,
    with_derivation,
)
from btg_seq2seq.translation.documents.markup import Markup
from btg_seq2seq.translation.documents.protected_rules import ProtectedRules
from btg_seq2seq.translation.documents.reading import Cut
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.workbench.languages import UNDETERMINED
from btg_seq2seq.workbench.models import ServedModel
from btg_seq2seq.workbench.service import Mode, Service


@dataclass(frozen=True)
class DocumentAnswer:
    """A text in the target language, and other translations of it, all different."""

    text: str
    alternatives: list[str]


async def translate_documents(
    service: Service,
    model: ServedModel,
    texts: Sequence[str],
    *,
    rules: Iterable[Rule] = (),
    markup: Markup = "text",
    cut: Cut = "lines",
    copied: Collection[str] = (),
    nbest: int = 1,
) -> list[DocumentAnswer]:
    """Translate texts as they are: with markup, placeholders and white space.

    ``markup``, ``cut`` and ``copied`` are those of ``Document.read``. Rules need cky, without them
    most sentences are translated flat. An alternative of a text has the alternatives of its
    sentences.
    """
    language = "" if model.languages.source == UNDETERMINED else model.languages.source
    async with asyncio.timeout(service.limits.deadline):
        documents = await asyncio.to_thread(
            lambda: [Document.read(text, markup, cut, language, copied) for text in texts]
        )
        sentences = [sentence for one in documents for sentence in one.sentences]
        service.check_counts(sentences)
        found = await _translate(service, model, sentences, RuleSet(rules), nbest)
        return await asyncio.to_thread(_written, documents, found, nbest)


async def _translate(
    service: Service,
    model: ServedModel,
    sentences: Sequence[Sentence],
    rules: RuleSet,
    nbest: int,
) -> list[Translation]:
    """Translate sentences in the order given; a flat one with tags is aligned."""
    protecting = ProtectedRules(rules, protected_spans(sentences))
    mode: Mode = "cky" if rules.rules else "flat"
    chosen: dict[Mode, list[int]] = {"flat": [], "cky": []}
    for rank, sentence in enumerate(sentences):  # what is protected needs cky
        chosen["cky" if sentence.protected else mode].append(rank)
    answers = await asyncio.gather(
        *(
            service.translate(
                model,
                [sentences[rank].text for rank in ranks],
                own,
                protecting if own == "cky" else (),
                nbest,
            )
            for own, ranks in chosen.items()
        )
    )
    results: dict[int, Translation] = {}
    for ranks, answer in zip(chosen.values(), answers, strict=True):
        results |= zip(ranks, answer.translations, strict=True)
    tagged = [
        rank
        for rank, translation in results.items()
        if sentences[rank].has_tags and translation.mode == "flat" and translation.text.strip()
    ]
    if tagged:
        pairs = [(results[rank].source, results[rank].text) for rank in tagged]
        for rank, pair in zip(tagged, await service.align(model, pairs), strict=True):
            if pair.derivation is not None:
                results[rank] = with_derivation(results[rank], pair)
    return [results[rank] for rank in range(len(sentences))]


def _written(
    documents: Sequence[Document], translations: Sequence[Translation], nbest: int
) -> list[DocumentAnswer]:
    """Put documents together, and as many alternatives as there are."""
    answers, first = [], 0
    for document in documents:
        own = translations[first : first + len(document.sentences)]
        first += len(own)
        texts = [document.write([_choice(one, rank) for one in own]) for rank in range(nbest)]
        unique = list(dict.fromkeys(texts))
        answers.append(DocumentAnswer(unique[0], unique[1:]))
    return answers


def _choice(translation: Translation, rank: int) -> Translation:
    """Return the alternative of a rank, or the last one if there are fewer."""
    if rank == 0 or not translation.alternatives:
        return translation
    other = translation.alternatives[min(rank, len(translation.alternatives)) - 1]
    return replace(translation, text=other.text, derivation=other.derivation)
