"""Aligned phrases of a bitext without a model: words, characters, links and probabilities."""

import math

import pytest

from btg_seq2seq.derivations.lexical import LexicalSettings
from btg_seq2seq.errors import UserError
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.biparse import biparse
from btg_seq2seq.translation.translation import Translation

NOUNS = {"dog": "Hund", "cat": "Katze", "bird": "Vogel", "fish": "Fisch", "horse": "Pferd"}
VERBS = {"sleeps": "schläft", "eats": "frisst", "runs": "rennt", "waits": "wartet"}
PAIRS = [
    (f"the big {noun} {verb} now.", f"jetzt {VERBS[verb]} das große {NOUNS[noun]}.")
    for noun in NOUNS
    for verb in VERBS
]
SOURCES, TARGETS = ([pair[side] for pair in PAIRS] for side in range(2))


@pytest.fixture(scope="module")
def parsed():
    return biparse(SOURCES, TARGETS, segments=4)


def test_words_that_translate_each_other_are_together(parsed):
    right = 0
    for pair, (noun, verb) in zip(
        parsed, [(noun, verb) for noun in NOUNS for verb in VERBS], strict=True
    ):
        by_source = {
            word: phrase.target
            for phrase in pair.derivation.phrases
            for word in phrase.source.replace(".", "").split()
        }
        right += NOUNS[noun] in by_source[noun] and VERBS[verb] in by_source[verb]
    assert right >= 0.9 * len(PAIRS)


def test_phrases_tile_both_sides_and_never_cut_words(parsed):
    for pair in parsed:
        phrases = pair.derivation.phrases
        for text, spans in (
            (pair.source, sorted(phrase.source_span for phrase in phrases)),
            (pair.text, [phrase.target_span for phrase in phrases]),
        ):
            assert [spans[0][0], *(stop for _, stop in spans)] == [
                *(start for start, _ in spans),
                len(text),
            ]
            edges = {word.start for word in words_of(text)} | {0, len(text)}
            assert {end for span in spans for end in span} <= edges
        assert pair.derivation.tree.segments == len(phrases)


def test_results_are_those_of_an_alignment(parsed):
    pair = parsed[0]
    assert (pair.source, pair.text, pair.mode) == (SOURCES[0], TARGETS[0], "given")
    assert pair.log_prob <= 0
    assert all(phrase.log_prob < 0 for phrase in pair.derivation.phrases)
    assert pair.variants == ()
    assert Translation.from_json(pair.to_json()) == pair
    assert parsed[-1] == list(parsed)[-1]
    assert len(parsed) == len(PAIRS)
    with pytest.raises(IndexError):
        parsed[len(PAIRS)]


def test_words_are_linked(parsed):
    """The most probable links, counted in words between spaces."""
    links = parsed.pharaoh(0).split()
    source, target = SOURCES[0].split(), TARGETS[0].split()
    named = {(source[int(x)], target[int(y)]) for x, y in (link.split("-") for link in links)}
    assert ("dog", "Hund.") in named
    assert ("sleeps", "schläft") in named


def test_the_number_of_phrases():
    settings = LexicalSettings(max_segments=3, draws=0)
    sources, targets = [*SOURCES, "one", "", "a b"], [*TARGETS, "eins zwei drei", "leer", ""]
    for segments in (1, 2, 3):
        counts = [
            0 if pair.derivation is None else len(pair.derivation.phrases)
            for pair in biparse(sources, targets, settings, segments=segments)
        ]
        assert counts == [segments] * len(PAIRS) + [1, 0, 0]
    chosen = [pair for pair in biparse(sources, targets, settings) if pair.derivation]
    assert {len(pair.derivation.phrases) for pair in chosen} <= {1, 2, 3}
    without = biparse(sources, targets, settings)[len(PAIRS) + 1]
    assert without.log_prob == -math.inf
    assert without.derivation is None


def test_scripts_without_spaces_are_cut_between_characters():
    sources = [f"{noun} {verb}" for noun in ("猫", "犬") for verb in ("eats", "sleeps")]
    targets = [f"{noun}{verb}" for noun in ("ネコ", "イヌ") for verb in ("は食べる", "は眠る")]
    for pair in biparse(sources, targets, segments=2):
        assert "".join(phrase.target for phrase in pair.derivation.phrases) == pair.text


def test_the_same_for_any_number_of_threads_and_from_a_cache(tmp_path):
    alone = list(biparse(SOURCES, TARGETS))
    assert list(biparse(SOURCES, TARGETS, threads=2, cache=tmp_path)) == alone
    assert list(biparse(SOURCES, TARGETS, cache=tmp_path)) == alone


def test_what_is_no_bitext_is_refused():
    with pytest.raises(UserError, match="1 sources, but 2 targets"):
        biparse(["a"], ["b", "c"])
    with pytest.raises(UserError, match="not one string"):
        biparse("a", "b")


def test_more_phrases_than_the_settings_allow():
    found = biparse(SOURCES, TARGETS, segments=5)
    assert {pair.derivation.tree.segments for pair in found} == {5}
    with pytest.raises(UserError, match="segments must be 1 or more, not 0"):
        biparse(SOURCES, TARGETS, segments=0)


def test_as_many_phrases_as_possible():
    """A number that no sentence reaches takes no memory."""
    found = biparse(SOURCES[:3], TARGETS[:3], segments=10_000)
    fewest = min(len(words_of(SOURCES[0])), len(words_of(TARGETS[0])))  # the same for all pairs
    assert found.taught.best.shape[1] == fewest
    assert found[0].derivation.tree.segments >= 4  # full stops stay at the ends
    assert found.taught.best_log_prob(0, 10_000) == -math.inf
    assert found.taught.best_log_prob(0, found.taught.best.shape[1] + 1) == -math.inf


def test_lines_that_are_too_long_have_no_links():
    found = biparse([*SOURCES, "dog " * 90], [*TARGETS, "Hund " * 90])
    assert found[len(SOURCES)].derivation is None
    assert found.pharaoh(len(SOURCES)) == ""
    assert found.pharaoh(0)
