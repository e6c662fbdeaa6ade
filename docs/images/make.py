"""Draw the pictures of the documentation: ``python docs/images/make.py``, or ``make pictures``.

A test compares them with the files. The sentences are made up; no model is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from btg_seq2seq import Rule, Translation
from btg_seq2seq.drawing.drawing import Drawing
from btg_seq2seq.grammar import Tree
from btg_seq2seq.translation.translation import TextDerivation, TextPhrase

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from figures import FIGURES  # noqa: E402  beside this file


def example(
    pairs: Sequence[tuple[str, str]],
    target_order: Sequence[int],
    rules: Mapping[int, Rule] | None = None,
    spaces: tuple[str, str] = (" ", " "),
) -> Translation:
    """Build a translation from phrase pairs in source order; spaces are those between phrases."""
    source, source_spans = _joined([pair[0] for pair in pairs], spaces[0])
    text, target_spans = _joined([pairs[rank][1] for rank in target_order], spaces[1])
    phrases = tuple(
        TextPhrase(
            *pairs[rank],
            (rank, rank + 1),
            source_spans[rank],
            target_span,
            0.0 if rules and rank in rules else -0.004 * (rank + 1),
            (rules or {}).get(rank),
        )
        for rank, target_span in zip(target_order, target_spans, strict=True)
    )
    tree = Tree.from_phrases([(rank, rank + 1) for rank in target_order])
    return Translation(text, -0.02, (), TextDerivation(tree, phrases), source, "cky")


def _joined(texts: Sequence[str], space: str) -> tuple[str, list[tuple[int, int]]]:
    """Join texts; the spans of characters tile the result."""
    whole, spans = "", []
    for rank, text in enumerate(texts):
        start = len(whole)
        whole += text + (space if rank < len(texts) - 1 else "")
        spans.append((start, len(whole)))
    return whole, spans


README = example(
    [("sie hat", "she has"), ("das alte Haus", "the old house"), ("renoviert", "refurbished")],
    [0, 2, 1],
    {2: Rule("renoviert", "refurbished")},
)
LONG = example(
    [
        ("nach langen Verhandlungen", "after long negotiations"),
        ("hat", "has"),
        ("die Regierung des kleinen Landes", "the government of the small country"),
        ("am vergangenen Donnerstag", "last Thursday"),
        ("ein neues Abkommen mit den Nachbarn", "a new agreement with its neighbours"),
        ("über den Schutz der Wälder", "on the protection of the forests"),
        ("unterzeichnet", "signed"),
        (", das viele Fachleute begrüßen", ", which many experts welcome"),
    ],
    [0, 2, 1, 6, 4, 5, 3, 7],
)
JAPANESE = example(
    [("彼女は", "she"), ("古い家を", "the old house"), ("改装した", "renovated")],
    [0, 2, 1],
    spaces=("", " "),
)
ARABIC = example(
    [
        ("اشترى", "bought"),
        ("الرجل العجوز", "the old man"),
        ("كتابا جديدا عن تاريخ المدينة", "a new book about the history of the city"),
    ],
    [1, 0, 2],
)
HEBREW = example(
    [("קנה", "اشترى"), ("האיש הזקן", "الرجل العجوز"), ("ספר חדש", "كتابا جديدا")], [0, 2, 1]
)
THAI = example(
    [
        ("เมื่อวานนี้", "yesterday"),
        ("แม่ของฉัน", "my mother"),
        ("ทำอาหาร", "cooked"),
        ("อร่อยมาก", "a delicious meal"),
    ],
    [1, 2, 3, 0],
    spaces=("", " "),
)
CHEROKEE = example(
    [("ᎠᏍᎦᏯ", "the man"), ("ᏎᎷ", "the corn"), ("ᎠᎩᏍᎬ", "is eating")],  # noqa: RUF001
    [0, 2, 1],
)
DEEP = example(
    [(word, word.upper()) for word in ["one", "two", "three", "four", "five", "six", "seven"]],
    [6, 0, 5, 1, 4, 2, 3],
)

PHRASES = example(
    [("sie hat", "she has"), ("das alte Haus", "the old house"), ("renoviert", "renovated")],
    [0, 2, 1],
)

PICTURES: dict[str, Drawing] = {
    "phrases.svg": PHRASES.draw(),
    "derivation.svg": README.draw(),
    "matrix.svg": README.draw("matrix"),
    "long.svg": LONG.draw(),
    "long-matrix.svg": LONG.draw("matrix"),
    "dark.svg": LONG.draw(theme="dark"),
    "deep.svg": DEEP.draw(),
    "japanese.svg": JAPANESE.draw(),
    "arabic.svg": ARABIC.draw(),
    "japanese-matrix.svg": JAPANESE.draw("matrix"),
    "arabic-matrix.svg": ARABIC.draw("matrix"),
    "hebrew-arabic.svg": HEBREW.draw(),
    "thai.svg": THAI.draw(),
    "cherokee.svg": CHEROKEE.draw(),
}

if __name__ == "__main__":
    for name, drawing in PICTURES.items():
        drawing.save(HERE / name)
    for name, figure in FIGURES.items():
        (HERE / name).write_text(figure.svg, encoding="utf-8")
