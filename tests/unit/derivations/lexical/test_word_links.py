"""Links between words: against a plain implementation, and found where positions decide."""

import numpy as np
import pytest

from btg_seq2seq.derivations.lexical import UnitCorpus, WordTables
from btg_seq2seq.derivations.lexical.kernels.link_kernels import EMPTY
from btg_seq2seq.derivations.lexical.word_links import WordLinks

LINES = (
    ["the red dog", "a dog", "the cat and the dog", "a red cat", "", "dog"],
    ["der rote Hund", "ein Hund", "die Katze und der Hund", "eine rote Katze", "leer", "Hund"],
)


def plain_posteriors(links, tables, sentence):
    """Probabilities by the definition, with dense tables."""
    corpus = links.corpus
    x, y = (
        words[side.ends[sentence] : side.ends[sentence + 1]]
        for words, side in zip(links.words, (corpus.source, corpus.target), strict=True)
    )
    forward = np.zeros((len(tables.source_words), len(tables.target_words)))
    backward = np.zeros_like(forward)
    rows = np.repeat(np.arange(len(forward)), np.diff(tables.begins))
    forward[rows, tables.columns], backward[rows, tables.columns] = links.entries[2:]
    places = [(np.arange(len(words)) + 0.5) / len(words) for words in (x, y)]
    near = np.exp(-links.tension * abs(places[0][:, None] - places[1]))
    one = (1 - EMPTY) * forward[np.ix_(x, y)] * near / near.sum(0)
    one /= one.sum(0) + EMPTY * links.nulls[0][y]
    other = (1 - EMPTY) * backward[np.ix_(x, y)] * near / near.sum(1, keepdims=True)
    other /= (other.sum(1) + EMPTY * links.nulls[1][x])[:, None]
    return one * other


@pytest.mark.parametrize("iterations", [0, 1, 4])
def test_posteriors_are_their_definition(iterations):
    corpus = UnitCorpus.of_text(*LINES)
    tables = WordTables.estimate(corpus)
    links = WordLinks.estimate(corpus, tables, iterations)
    for sentence in (0, 1, 2, 3, 5):
        expected = plain_posteriors(links, tables, sentence)
        np.testing.assert_allclose(links.probabilities(sentence), expected, rtol=1e-12)
    assert links.probabilities(4).shape == (0, 1)


def test_equal_words_are_told_apart_by_their_places():
    """The second ``the`` writes the second article."""
    lines = [f"the {one} sees the {other}" for one in "abcd" for other in "abcd"]
    corpus = UnitCorpus.of_text(lines, [line.upper() for line in lines])
    links = WordLinks.estimate(corpus, WordTables.estimate(corpus))
    assert links.tension > 0
    for sentence in range(len(lines)):
        found = links.probabilities(sentence)
        assert (found.argmax(0) == np.arange(5)).all()
        assert (found.argmax(1) == np.arange(5)).all()


def test_positions_do_not_matter_where_order_says_nothing():
    """Words in random order: the tension falls."""
    random = np.random.default_rng(0)
    words = [random.permutation(20)[:8] for _ in range(200)]
    lines = [[" ".join(f"{side}{word}" for word in row) for row in words] for side in "xy"]
    lines[1] = [" ".join(random.permutation(line.split())) for line in lines[1]]
    corpus = UnitCorpus.of_text(*lines)
    links = WordLinks.estimate(corpus, WordTables.estimate(corpus))
    assert links.tension < 1


def test_an_empty_corpus():
    corpus = UnitCorpus.of_text([""], [""])
    links = WordLinks.estimate(corpus, WordTables.estimate(corpus))
    assert links.probabilities(0).shape == (0, 0)
