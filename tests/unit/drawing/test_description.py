"""Derivations in words."""

import math

from pictures import PICTURES, example

from btg_seq2seq import Rule
from btg_seq2seq.drawing.description import (
    description_of,
    log_prob_text,
    note_on,
    note_on_part,
    title_of,
)
from btg_seq2seq.drawing.diagram import Diagram

README = PICTURES["derivation.svg"].diagram


def test_it_reads_the_derivation_aloud():
    assert description_of(README) == (
        "The derivation of a translation from 3 phrases. The sentence has 2 parts, translated in "
        "the same order. Part 1: “sie hat” becomes “she has”. Part 2 has 2 parts, translated in "
        "reverse order. Part 2.1: “das alte Haus” becomes “the old house”. Part 2.2: “renoviert” "
        "becomes “refurbished”, given by a rule."
    )


def test_one_phrase_that_is_kept_or_has_no_translation():
    kept = Diagram.of(example([("Haus", "Haus")], [0], {0: Rule("Haus", mode="keep")}))
    assert description_of(kept).endswith("“Haus” becomes “Haus”, kept by a rule.")
    nothing = Diagram.of(example([("ja", ""), ("doch", "yes")], [0, 1]))
    assert "“ja” becomes nothing." in description_of(nothing)


def test_titles_are_bounded_and_isolate_what_runs_leftwards():
    assert title_of(README) == (
        "“sie hat das alte Haus renoviert” translated as “she has refurbished the old house”"
    )
    long = Diagram.of(example([("a" * 9999, "ספר")], [0]))
    assert len(title_of(long)) < 200
    assert "…" in title_of(long)
    assert title_of(long).endswith("“\u2068ספר\u2069”")
    assert len(description_of(long)) < 500


def test_notes():
    assert note_on(README.pairs[0]) == (
        "“sie hat” → “she has”\nlog-probability \N{MINUS SIGN}0.004 (probability 0.996)"
    )
    assert note_on(README.pairs[2]).endswith("given by the rule 'renoviert' -> 'refurbished'")
    assert note_on_part(README.root) == "2 parts; the translation keeps their order"
    assert note_on_part(README.root.parts[1]).endswith("inverts their order")


def test_log_probabilities():
    assert log_prob_text(-math.inf) == "\N{MINUS SIGN}∞"
    assert log_prob_text(-20.0) == "\N{MINUS SIGN}20.000"
    assert log_prob_text(math.nan) == "unknown"
    assert log_prob_text(0) == "0.000 (probability 1.000)"
