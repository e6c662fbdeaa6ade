"""New sentence pairs as text: all different, none of them old, the same for the same seed."""

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.grammar import Tree
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


def test_unknown_words_are_counted_and_left_out():
    pairs = [("a b", "A B"), ("c d", "C D"), ("e f", "E F"), ("g h", "G H")]
    bitext = Bitext([source for source, _ in pairs], [target for _, target in pairs])
    tokenizer = train_tokenizer("word", ["a b c d e f g h A C D E F G H"])  # without B
    two_words = Derivation(Tree.parse("[0:1 1:2]"), [(0, 1), (1, 2)])
    derivations = DerivationCorpus.of([two_words] * len(pairs))
    found = augment(
        Recombiner(derivations, encode_bitext(bitext, tokenizer)), tokenizer, 99, seed=0
    )
    assert found.unknown > 0
    assert all("B" not in target for _, target in found.pairs)
