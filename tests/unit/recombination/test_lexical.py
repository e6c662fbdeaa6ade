"""Recombination without a model: derivations of the lexical teacher, in units of a tokenizer."""

from checks import refused

from btg_seq2seq import recombine
from btg_seq2seq.recombination.lexical import lexical_derivations
from btg_seq2seq.text import encode_bitext, train_tokenizer
from btg_seq2seq.text.units import fenceposts_of, unit_table
from tests.tiny_runs import tiny_bitext


def test_derivations_cover_every_sentence():
    bitext = tiny_bitext("train", 60)
    tokenizer = train_tokenizer("bpe", [*bitext.source, *bitext.target], 320)
    examples = encode_bitext(bitext, tokenizer)
    derivations = lexical_derivations(examples, tokenizer)
    table = unit_table(tokenizer)
    assert len(derivations) == 60
    assert derivations.without_tree == 0
    for position in range(60):
        phrases = derivations.phrases(position)
        source = fenceposts_of(table, examples.source[position][:-1])
        target = fenceposts_of(table, examples.target[position][:-1])
        assert max(stop for _, stop, _, _ in phrases) == len(source) - 1
        assert phrases[-1][3] == len(target) - 1


def test_new_pairs_from_text():
    bitext = tiny_bitext("train", 60)
    sources, targets = bitext.source, bitext.target
    found = recombine(sources, targets, 20)
    assert 0 < len(found) <= 20
    assert not {source for source, _ in found} & {*sources}
    excluded = found[0][0]
    assert excluded not in {one for one, _ in recombine(sources, targets, exclude=[excluded])}
    with refused("1 sources but 2 targets"):
        recombine(["a"], ["b", "c"])
    with refused("must be lists of sentences"):
        recombine("ab", ["b", "c"])
    with refused("half a character"):
        recombine(["a", "b\ud800"], ["b", "c"])
