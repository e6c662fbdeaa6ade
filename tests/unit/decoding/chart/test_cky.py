"""Cky decoding with tiny models: provenance, batches, pruning, and long sentences."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from decoding_models import (
    SMALL,
    assert_same,
    check_provenance,
    check_rules,
    decode_flat,
    prepare,
    sentences,
    tiny_model,
)
from oracle import SPAN_INDEX, TreeOracle, phrases
from tiny_models import every_family

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.decoding_settings import DecodingSettings

MODEL = tiny_model(max_segments=3)
LENGTHS = [5, 1, 7, 3]


@every_family
def test_results_are_whole_and_do_not_depend_on_the_batch(name):
    model = tiny_model(name, max_segments=3)
    sources = sentences(model, LENGTHS)
    options = replace(SMALL, flat_weight=0.1)
    together = prepare(model, sources, options).decode(nbest=4)
    for source, length, result in zip(sources, LENGTHS, together, strict=True):
        assert result.fallback is None
        for own in result.hypotheses:
            assert len(own.segment_posterior) == min(3, length)
            assert sum(own.segment_posterior) == pytest.approx(1.0)
        assert len({own.tokens for own in result.hypotheses}) == len(result.hypotheses)
        for own in result.hypotheses:
            check_provenance(own, length)
        (alone,) = prepare(model, [source], options).decode(nbest=4)
        assert_same(alone, result)


def test_one_phrase_is_flat_decoding():
    sources = sentences(MODEL, LENGTHS)
    flat = decode_flat(MODEL, sources, SMALL, nbest=3)
    for options in (replace(SMALL, flat_weight=1.0), replace(SMALL, max_segments=1)):
        prepared = prepare(MODEL, sources, options)
        for result, expected in zip(prepared.decode(nbest=3), flat, strict=True):
            assert [own.tokens for own in result.hypotheses] == [own.tokens for own in expected]
            assert [own.log_prob for own in result.hypotheses] == pytest.approx(
                [own.log_prob for own in expected]
            )


def test_without_whole_sentences():
    sources = sentences(MODEL, LENGTHS)
    results = prepare(MODEL, sources, replace(SMALL, flat_weight=0.0)).decode()
    for length, result in zip(LENGTHS, results, strict=True):
        assert (len(result.hypotheses[0].phrases) > 1) == (length > 1)


def test_pruning_drops_spans_and_mass_but_no_sentence():
    sources = sentences(MODEL, LENGTHS)
    full = prepare(MODEL, sources, replace(SMALL, span_threshold=0.0))
    none = [()] * len(sources)
    kept = {sentence: plan.kept for sentence, plan in full.plans(none).items()}
    for threshold in (0.05, 0.3, 1.0):
        options = replace(SMALL, span_threshold=threshold, flat_weight=0.0)
        pruned = prepare(MODEL, sources, options)
        for sentence, plan in pruned.plans(none).items():
            assert not (plan.kept & ~kept[sentence]).any()
            if LENGTHS[sentence] > 3:
                assert plan.kept.sum() < kept[sentence].sum()
        assert all(result.hypotheses for result in pruned.decode())


def test_threshold_is_the_leaf_posterior():
    (source,) = sentences(MODEL, [6])
    none = [()]
    (plan,) = prepare(MODEL, [source], replace(SMALL, span_threshold=0.1)).plans(none).values()
    prepared = prepare(MODEL, [source], replace(SMALL, span_threshold=0.0))
    # n = 2 and n = 3 are equally likely at a rate of 1/2.
    scores = torch.from_numpy(prepared._scores[0])
    posterior = sum(0.5 * TreeOracle(scores, 6, n, 6).leaf_marginals for n in (2, 3)).numpy()
    best = set()
    for n in (2, 3):
        oracle = TreeOracle(scores, 6, n, 6)
        tree = oracle.outcomes[int(oracle.log_weights.argmax())]
        best |= {SPAN_INDEX[phrase] for phrase in phrases(tree)}
    expected = posterior >= 0.1
    expected[[*best]] = True
    assert plan.kept.tolist() == expected.tolist()


def test_only_what_is_wanted_is_decoded():
    sources = sentences(MODEL, LENGTHS)
    prepared = prepare(MODEL, sources, SMALL)
    rule = RuleSpan(0, 1, ((5,),), 0)
    (result,) = prepared.decode([[rule]], rows=[3])
    check_rules(result, [rule])
    assert [*prepared._plain] == []
    assert_same(prepared.decode(rows=[2])[0], prepare(MODEL, sources, SMALL).decode()[2])
    assert [*prepared._plain] == [2]


def test_choices_are_scored_together_and_once():
    calls = []
    sources = sentences(MODEL, [5, 4, 8])
    prepared = prepare(MODEL, sources, replace(SMALL, max_cky_length=6))
    phrases = prepared.candidates.phrases
    score = phrases.score_phrases
    phrases.score_phrases = lambda spans, targets: (
        calls.append(len(targets)) or score(spans, targets)
    )
    rules = [[RuleSpan(i, i + 1, ((5,), (6,)), i) for i in range(3)] for _ in sources]
    first = prepared.decode(rules)
    assert calls == [18]
    assert prepared.decode(rules) == first
    assert calls == [18]
    for own, result in zip(rules, first, strict=True):
        check_rules(result, own)


def test_weights_that_are_not_numbers():
    model = tiny_model()
    with torch.no_grad():
        for weight in model.backbone.model.parameters():
            weight.fill_(np.nan)
    for options in (SMALL, replace(SMALL, max_cky_length=3)):
        (result,) = prepare(model, sentences(model, [5]), options).decode()
        assert result.hypotheses == []


def test_long_sentences_fall_back_and_say_so():
    sources = sentences(MODEL, [8, 4])
    prepared = prepare(MODEL, sources, replace(SMALL, max_cky_length=6))
    long, short = prepared.decode(nbest=2)
    assert "8 words" in long.fallback
    assert "flat" in long.fallback
    assert short.fallback is None
    flat = decode_flat(MODEL, sources, SMALL, nbest=2)[0]
    assert [own.tokens for own in long.hypotheses] == [own.tokens for own in flat]
    rules = [[RuleSpan(3, 5, ((5, 6),), 0)], []]
    long, _ = prepared.decode(rules, nbest=2)
    assert "source order" in long.fallback
    check_rules(long, rules[0])
    for own in long.hypotheses:
        check_provenance(own, 8)


def test_impossible_requests_are_refused():
    prepared = prepare(MODEL, sentences(MODEL, [4]), SMALL)
    one, other = RuleSpan(0, 2, ((5,),), 0), RuleSpan(1, 3, ((6,),), 1)
    with pytest.raises(ValueError, match=r"sentence 0: rule 0 .* rule 1"):
        prepared.decode([[other, one]])
    with pytest.raises(ValueError, match="sentence 0: rule 7"):
        prepared.decode([[RuleSpan(3, 5, ((5,),), 7)]])
    with pytest.raises(ValueError, match="rules for 2 sentences"):
        prepared.decode([[], []])
    with pytest.raises(ValueError, match="sentence 1"):
        prepare(MODEL, [[5, 1], [1]], SMALL)


def test_settings_that_default_to_the_model():
    config = BTGSeq2SeqConfig(max_segments=7, max_phrase_length=9)
    chosen = DecodingSettings(segment_rate=0.3, max_phrase_length=8).completed_by(config)
    assert (chosen.max_segments, chosen.max_phrase_length) == (7, 8)
    assert (chosen.flat_weight, chosen.segment_rate) == (0.5, 0.3)
