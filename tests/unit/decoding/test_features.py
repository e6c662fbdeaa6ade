"""Features of translations: what each of them is, and that neighbours do not matter."""

import numpy as np
import pytest
import torch
from decoding_models import SMALL, sentences, tiny_model
from tiny_models import every_family
from tiny_units import table_of

from btg_seq2seq.decoding.features import (
    FORWARD,
    LEXICAL_FORWARD,
    PHRASE,
    REVERSE,
    WORD,
    rule_features,
    translation_features,
    unit_counts,
)
from btg_seq2seq.decoding.phrase_translator import KBest
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.derivations.lexical import UnitCorpus, UnitSide, WordTables
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.tuned.ranking_weights import FEATURES
from btg_seq2seq.text.units import fenceposts_of

STRINGS = [[((5, 6), -1.0), ((7,), -2.0)], [], [((4, 4, 9), -0.5)], [((), -3.0)]]
SPANS = [(0, 0, 2), (0, 1, 3), (1, 1, 2), (1, 0, 3)]


def tables():
    rows = [[4, 5, 6], [7, 8, 9], [5, 7]]
    side = UnitSide.of(rows, [range(len(row) + 1) for row in rows])
    return WordTables.estimate(UnitCorpus(side, side), 2)


def phrases_of(model, **options):
    return Seq2SeqPhrases(model, sentences(model, [4, 3]), SMALL, **options)


@every_family
@torch.no_grad()
def test_a_batch_is_its_parts(name):
    phrases = phrases_of(tiny_model(name), tables=tables())
    together = translation_features(phrases, SPANS, KBest.of(STRINGS), FEATURES)
    alone = [
        translation_features(phrases, [span], KBest.of([[string]]), FEATURES)
        for span, own in zip(SPANS, STRINGS, strict=True)
        for string in own
    ]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-4, atol=1e-4)
    assert together[:, FORWARD].tolist() == [-1.0, -2.0, -0.5, -3.0]
    assert together[:, WORD].tolist() == [2, 1, 3, 0]
    assert together[:, PHRASE].tolist() == [1, 1, 1, 1]
    assert np.isfinite(together).all()
    assert (together[:, REVERSE] < 0).all()


def test_what_is_not_used_is_not_computed(monkeypatch):
    phrases = phrases_of(tiny_model())
    monkeypatch.setattr(phrases, "reverse_scores", None)
    found = translation_features(phrases, SPANS, KBest.of(STRINGS), {"forward", "word"})
    assert (found[:, [REVERSE, LEXICAL_FORWARD]] == 0).all()


def test_lexical_features_need_tables():
    with pytest.raises(UserError, match="need word-translation tables, and the model has none"):
        translation_features(phrases_of(tiny_model()), SPANS, KBest.of(STRINGS), {"lexical"})


def test_words_are_units():
    table = table_of(20, [5, 6])
    strings = [(5, 6, 7), (), (6,), (7, 5, 8), (99, 5)]
    tokens = np.array([token for string in strings for token in string])
    lengths = np.array([*map(len, strings)])
    found = unit_counts(tokens, lengths, table.numpy()).tolist()
    expected = [len(fenceposts_of(table, [t % 20 for t in own])) - 1 for own in strings[:4]]
    assert found[:4] == expected == [2, 0, 1, 2]
    assert found[4] >= 1  # a token that stands for a rule's target
    assert unit_counts(tokens, lengths, None).tolist() == [3, 0, 1, 3, 2]


def test_rules_are_certain():
    row = dict(
        zip(FEATURES, rule_features(-0.5, (7, 5, 8), table_of(20, [5]).numpy())[0], strict=True)
    )
    assert row.pop("forward") == -0.5
    assert (row.pop("word"), row.pop("phrase")) == (2, 1)
    assert not any(row.values())
