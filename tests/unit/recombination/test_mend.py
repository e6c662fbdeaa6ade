"""Derivations that are wrong throughout the sentences of a phrase are mended by its neighbours."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.grammar import Tree
from btg_seq2seq.recombination.mend import FARTHEST, mended
from btg_seq2seq.recombination.recombine import Recombiner
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.corpus_units import CorpusUnits
from btg_seq2seq.text.units import WordJoins


@pytest.fixture(scope="module")
def task():
    items = generate(SvoSovConfig("few-shot"))["train"]
    bitext = Bitext([item.source for item in items], [item.target for item in items])
    return items, encode_bitext(bitext, train_tokenizer("word", bitext.source + bitext.target))


def gold_derivations(items):
    return DerivationCorpus.of(Derivation(item.tree, item.target_phrases) for item in items)


def sides(examples):
    return CorpusUnits.of(examples.source, None), CorpusUnits.of(examples.target, None)


def subject_of(item):
    return " ".join(item.source.split()[: item.tree.phrases[0][1]])


def verb_of(item, side):
    spans, text = {
        "source": (item.tree.phrases, item.source),
        "target": (item.target_phrases, item.target),
    }[side]
    start, stop = spans[2]
    return tuple(text.split()[start:stop])


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_phrase_that_is_wrong_everywhere_is_mended(task, side):
    """All sentences of some subjects give their last token to what follows it."""
    items, examples = task
    chosen = Random(0).sample(sorted({subject_of(item) for item in items}), 20)
    trees, targets, wrong = [], [], []
    for rank, item in enumerate(items):
        (_, stop), *others = item.tree.phrases
        (_, last), *rest = item.target_phrases
        if subject_of(item) in chosen and min(stop, last) > 1:
            wrong.append(rank)
            if side == "source":  # of the verb, which follows the subject there
                others[1] = (stop - 1, others[1][1])
                stop -= 1
            else:
                rest[0] = (last - 1, rest[0][1])
                last -= 1
        trees.append(Tree.from_phrases([(0, stop), *others]))
        targets.append([(0, last), *rest])
    assert len(wrong) > 20
    gold = gold_derivations(items)
    found = Recombiner(DerivationCorpus.of(map(Derivation, trees, targets)), examples).derivations
    differing = [rank for rank in range(len(items)) if found[rank] != gold[rank]]
    assert len(differing) <= 0.1 * len(wrong)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_frequent_phrase_that_is_wrong_everywhere_is_mended(task, side):
    """Two verbs give their first token, in all of their sentences, to what stands before it."""
    items, examples = task
    trees, targets, wrong = [], [], []
    verbs = sorted({verb_of(item, side) for item in items if len(verb_of(item, side)) > 1})
    for rank, item in enumerate(items):
        subject, object_, (start, stop) = item.tree.phrases
        first, second, (begin, end) = item.target_phrases
        if verb_of(item, side) in Random(1).sample(verbs, 2):
            wrong.append(rank)
            if side == "source":
                subject, start = (0, start + 1), start + 1
            else:
                second, begin = (second[0], begin + 1), begin + 1
        trees.append(Tree.from_phrases([subject, object_, (start, stop)]))
        targets.append([first, second, (begin, end)])
    assert len(wrong) > 80
    gold = gold_derivations(items)
    found = Recombiner(DerivationCorpus.of(map(Derivation, trees, targets)), examples).derivations
    differing = [rank for rank in range(len(items)) if found[rank] != gold[rank]]
    assert len(differing) <= 0.1 * len(wrong)


def test_what_is_right_stays(task):
    items, examples = task
    gold = gold_derivations(items)
    found = mended(gold, sides(examples), range(len(items)))
    differing = [rank for rank in range(len(items)) if found[rank] != gold[rank]]
    assert len(differing) <= 0.01 * len(items)


def test_no_word_is_cut():
    """A word of two tokens, of which the first is a word too, is not taken apart for that."""
    known, new = ["small house", "red dog"], "small er cat"
    bitext = Bitext(known * 12 + [new], known * 12 + [new])
    examples = encode_bitext(bitext, train_tokenizer("word", bitext.source))
    phrases = [(0, 1), (1, 2)]
    spans = [*[phrases] * 24, [(0, 2), (2, 3)]]
    right = DerivationCorpus.of(Derivation(Tree.from_phrases(each), each) for each in spans)
    within = WordJoins(frozenset({examples.source[24][1]}))
    assert mended(right, sides(examples), [24], within).phrases(24) == right.phrases(24)
    assert mended(right, sides(examples), [24]).phrases(24) != right.phrases(24)
    assert Recombiner(right, examples, joins=within).derivations[24] == right[24]


@given(st.data())
def test_only_boundaries_move(task, data):
    """Whatever is given, phrases tile both sides in the same order, and none is lost."""
    items, examples = task
    rank = data.draw(st.integers(0, len(items) - 1))
    lengths = len(items[rank].source.split()), len(items[rank].target.split())
    cuts = [
        sorted(data.draw(st.sets(st.integers(1, length - 1), min_size=2, max_size=2)))
        for length in lengths
        if length > 2
    ]
    if len(cuts) < 2:
        return
    source, target = (
        [(0, first), (first, second), (second, length)]
        for (first, second), length in zip(cuts, lengths, strict=True)
    )
    order = data.draw(st.permutations(source))
    trees = [item.tree for item in items]
    targets = [item.target_phrases for item in items]
    trees[rank], targets[rank] = Tree.from_phrases(order), target
    before = DerivationCorpus.of(map(Derivation, trees, targets))
    after = mended(before, sides(examples), [rank])
    for own in range(0, len(items), 97):
        assert own == rank or after[own] == before[own]
    spans = after.phrases(rank)
    longest = (before.spans[:, 1::2] - before.spans[:, ::2]).max(0)
    assert ((after.spans[:, 1::2] - after.spans[:, ::2]).max(0) <= longest).all()
    assert all(start < stop and first < last for start, stop, first, last in spans)
    for side, length, given_cuts in zip((0, 2), lengths, cuts, strict=True):
        ends = sorted(span[side + 1] for span in spans)
        assert [0, *ends[:-1]] == sorted(span[side] for span in spans)
        assert ends[-1] == length
        moves = [abs(one - other) for one, other in zip(ends, given_cuts, strict=False)]
        assert sum(move > 0 for move in moves) <= 1
        assert max(moves) <= FARTHEST
    ranks = [sorted(order).index(span) for span in order]
    assert [sorted(span[0] for span in spans).index(span[0]) for span in spans] == ranks
