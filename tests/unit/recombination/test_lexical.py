"""Recombination without a model: derivations of the lexical teacher, in units of a tokenizer."""

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
