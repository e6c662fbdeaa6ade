"""The packed derivations of a bitext."""

import pytest

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.grammar import Tree

DERIVATIONS = [
    Derivation(Tree.parse("[0:2 <2:3 3:5>]"), [(0, 1), (1, 2), (2, 4)]),
    None,
    Derivation(Tree.parse("0:3"), [(0, 2)]),
]


def test_derivations_are_packed_and_unpacked():
    corpus = DerivationCorpus.of(DERIVATIONS)
    assert [corpus[position] for position in range(len(corpus))] == DERIVATIONS
    assert corpus[-1] == DERIVATIONS[2]
    assert corpus.phrases(0) == [[0, 2, 0, 1], [3, 5, 1, 2], [2, 3, 2, 4]]
    assert corpus.without_tree == 1
    with pytest.raises(IndexError):
        corpus[3]
    assert len(DerivationCorpus.of([])) == 0


def test_derivations_are_saved_and_loaded(tmp_path):
    path = tmp_path / "derivations.safetensors"
    DerivationCorpus.of(DERIVATIONS, prefix=1).save(path)
    loaded = DerivationCorpus.load(path)
    assert [loaded[position] for position in range(len(loaded))] == DERIVATIONS
    assert loaded.prefix == 1
    with pytest.raises(ValueError, match="no derivations can be read"):
        DerivationCorpus.load(tmp_path / "missing")
