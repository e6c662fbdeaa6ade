<<<<<<< HEAD
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
=======
"""New sentence pairs as text: all different, none of them old, the same for the same seed."""

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.recombination.augment import augment
from btg_seq2seq.recombination.recombine import Recombiner
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer


def recombiner_and_tokenizer():
    items = generate(SvoSovConfig.tiny("few-shot"))["train"][:60]
    bitext = Bitext([item.source for item in items], [item.target for item in items])
    tokenizer = train_tokenizer("word", [*bitext.source, *bitext.target])
    examples = encode_bitext(bitext, tokenizer)
    derivations = [Derivation(item.tree, item.target_phrases) for item in items]
    return Recombiner(DerivationCorpus.of(derivations), examples), tokenizer, bitext


def test_pairs_are_new_and_different():
    recombiner, tokenizer, bitext = recombiner_and_tokenizer()
    found = augment(recombiner, tokenizer, 50, seed=1)
    assert len(found.pairs) == 50
    assert found.unknown == 0
    sources = [source for source, _ in found.pairs]
    assert len(set(sources)) == 50
    assert not {*sources} & {*bitext.source}
    known = {word for text in [*bitext.source, *bitext.target] for word in text.split()}
    assert {word for pair in found.pairs for text in pair for word in text.split()} <= known


def test_a_seed_decides():
    pairs = [augment(*recombiner_and_tokenizer()[:2], 10, seed=seed).pairs for seed in (1, 1, 2)]
    assert pairs[0] == pairs[1] != pairs[2]
>>>>>>> main
