"""Texts of any length through the scheduler: taken apart, translated, put together again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.workbench.models import ServedModel
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Service

Markup = Literal["text", "html", "xml"]
Cut = Literal["none", "lines", "paragraphs"]


@dataclass(frozen=True)
class DocumentAnswer:
    """A text in the target language, and other translations of it."""

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
    nbest: int = 1,
) -> list[DocumentAnswer]:
    """Translate texts as they are."""
    if markup != "text":
        raise Problem(400, f"the format {markup} is not supported")
    lines = [line for text in texts for line in text.split("\n")]
    found = iter((await service.translate(model, lines, None, rules, nbest)).translations)
    answers = []
    for text in texts:
        own = [next(found) for _ in text.split("\n")]
        choices = [[one.text, *(other.text for other in one.alternatives)] for one in own]
        written = [
            "\n".join(texts[min(rank, len(texts) - 1)] for texts in choices)
            for rank in range(nbest)
        ]
        unique = list(dict.fromkeys(written))
        answers.append(DocumentAnswer(unique[0], unique[1:]))
    return answers
