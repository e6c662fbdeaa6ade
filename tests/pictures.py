"""Derivations to draw: those of the documentation, and random ones."""

import importlib.util
from pathlib import Path

from hypothesis import strategies as st

IMAGES = Path(__file__).parents[1] / "docs" / "images"

_spec = importlib.util.spec_from_file_location("docs_images", IMAGES / "make.py")
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)
example, PICTURES, FIGURES = made.example, made.PICTURES, made.FIGURES

HOSTILE = example(
    [
        ("<script>alert(1)</script>", "\"quotes\" & 'more' ]]> --"),
        ("nul\x00 esc\x1b[31m \ufffe c1\x9b", "\u202eoverride\u202c"),
        ("z" + "\u0301" * 60, "W" * 10_000),
    ],
    [2, 0, 1],
)


@st.composite
def orders(draw, most=9):
    """Target orders that a tree can express."""
    order = list(range(draw(st.integers(1, most))))
    pieces = [(0, len(order))]
    while pieces:
        start, stop = pieces.pop()
        if stop - start > 1:
            split = draw(st.integers(start + 1, stop - 1))
            if draw(st.booleans()):
                order[start:stop] = order[split:stop] + order[start:split]
                split = start + stop - split
            pieces += [(start, split), (split, stop)]
    return order


TEXTS = st.text(min_size=1, max_size=30).filter(lambda text: text.strip())
WORDS = st.sampled_from(
    ["das", "Haus", "彼女は古い家を", "كتاب", "ספר", "ᎣᏏᏲ", "เธอ", "👩‍🚀", "x" * 40]
)


@st.composite
def translations(draw, most=9, texts=TEXTS | WORDS):
    order = draw(orders(most))
    return example([(draw(texts), draw(texts)) for _ in order], order)
