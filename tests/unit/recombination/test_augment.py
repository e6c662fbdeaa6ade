"""New sentence pairs as text: all different, none of the bitext, no unknown words."""

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.grammar import Tree
from btg_seq2seq.recombination.augment import augment
from btg_seq2seq.recombination.recombine import Recombiner
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer

TWO_WORDS = Derivation(Tree.parse("[0:1 1:2]"), [(0, 1), (1, 2)])
OLD = [("a b", "A B"), ("c d", "C D"), ("e f", "E F"), ("g h", "G H")]
ALL = {(f"{first} {second}", f"{first} {second}".upper()) for first in "aceg" for second in "bdfh"}


def recombiner_of(known):
    bitext = Bitext([source for source, _ in OLD], [target for _, target in OLD])
    tokenizer = train_tokenizer("word", known)
    return Recombiner(
        DerivationCorpus.of([TWO_WORDS] * len(OLD)), encode_bitext(bitext, tokenizer)
    ), tokenizer


def test_new_pairs_are_different_and_recombined():
    recombiner, tokenizer = recombiner_of(["a b c d e f g h A B C D E F G H"])
    new = augment(recombiner, tokenizer, 100, seed=0)
    assert len({*new.pairs}) == len(new.pairs) > 1
    assert {*new.pairs} <= ALL - {*OLD}
    assert new.unknown == 0
    assert augment(recombiner, tokenizer, 100, seed=0) == new
    assert augment(recombiner, tokenizer, 1, seed=0).pairs == new.pairs[:1]


def test_unknown_words_are_counted_and_left_out():
    recombiner, tokenizer = recombiner_of(["a b c d e f g h A C D E F G H"])  # without B
    new = augment(recombiner, tokenizer, 100, seed=0)
    assert new.unknown > 0
    assert all("B" not in target for _, target in new.pairs)
    assert {*new.pairs} <= ALL - {*OLD}
