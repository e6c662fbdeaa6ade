"""The mass of a given target against enumerations, and against what decoding reports."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from decoding_models import SMALL, decode_flat, prepare, sentences, tiny_model
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import SPAN_INDEX, SPANS, forest, phrases, tilings
from tiny_units import with_words

from btg_seq2seq.decoding.chart import target_mass as target_mass_module
from btg_seq2seq.decoding.chart.kernels import mass_kernels
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq


def target_mass(model, sources, targets, options=None):
    """The masses under a seq2seq model."""
    phrases = Seq2SeqPhrases(model, sources, options)
    return target_mass_module.target_mass(phrases, phrases.grammar, targets, options)


@settings(max_examples=30)
@given(
    st.integers(2, 5),
    st.integers(2, 6),
    st.integers(2, 4),
    st.sampled_from([0.5, 30.0, 1000.0]),
    st.integers(0, 2**32 - 1),
)
def test_all_trees_and_segmentations(length, size, segments, scale, seed):
    segments = min(segments, length)
    generator = np.random.default_rng(seed)
    scores = generator.normal(0, scale, (math.comb(length + 1, 3), 2))
    kept = [s for s in range(length * (length + 1) // 2) if generator.random() < 0.8]
    tables = generator.normal(0, scale, (len(kept), size + 1, size + 1))
    tables[generator.random(tables.shape) < 0.1] = -np.inf
    masses, bests = np.full((2, segments), -np.inf)
    records = np.zeros((segments, segments, 3), np.int64)
    mass_kernels.target_masses(
        *(length, segments, scores, np.repeat(tables[:, None], 2, 1), np.array(kept, np.int64)),
        *(size + 1, masses, bests, records),
    )
    rows = {SPANS[place]: row for row, place in enumerate(kept)}
    for n in range(2, segments + 1):
        listed = forest(0, length, n, length)
        terms = {}
        weights = listed.log_weights(torch.from_numpy(scores)).tolist()
        for tree, weight in zip(listed.trees, weights, strict=True):
            if not all(phrase in rows for phrase in phrases(tree)):
                continue
            for posts in tilings(0, size, n, size):
                parts = [*zip(phrases(tree), pairwise(posts), strict=True)]
                mass = weight + sum(tables[rows[span], a, c] for span, (a, c) in parts)
                if mass > -math.inf:
                    leaves = [(SPAN_INDEX[span], a, c) for span, (a, c) in parts]
                    terms[tuple(leaves)] = mass
        if not terms:
            assert masses[n - 1] == -math.inf
            continue
        total = float(np.logaddexp.reduce([*terms.values()]))
        assert masses[n - 1] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert bests[n - 1] == pytest.approx(max(terms.values()), rel=1e-9, abs=1e-9)
        found = tuple(tuple(row) for row in records[n - 1, :n].tolist())
        assert terms[found] == pytest.approx(bests[n - 1], rel=1e-9, abs=1e-9)


def countable_model(**options):
    """Five words; strings of up to two tokens can all be listed."""
    torch.manual_seed(3)
    config = default_config(9, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=2, **options)
    model.backbone.add_segment_ids(2, 3)
    return model.eval()


@pytest.mark.parametrize("continuing", [None, [5, 7]])
@pytest.mark.parametrize("encoding", ["alone", "sentence", "both"])
def test_an_unbounded_beam_reports_the_exact_mass(encoding, continuing):
    model = countable_model(phrase_encoding=encoding)
    if continuing is not None:
        model = with_words(model, continuing)
    sources = [[4, 5, 6, 1], [7, 8, 1]]
    everything = DecodingSettings(beam_size=1000, max_output_ratio=0.0, max_output_extra=2)
    results = prepare(model, sources, everything).decode(nbest=None)
    for source, result in zip(sources, results, strict=True):
        assert len(result.hypotheses) > (700 if continuing is None else 400)
        chosen = [*result.hypotheses[:4], *result.hypotheses[100:400:60]]
        found = target_mass(model, [source] * len(chosen), [h.tokens for h in chosen], everything)
        for own, mass in zip(chosen, found, strict=True):
            assert mass.log_mass == pytest.approx(own.log_prob, abs=1e-5)
            assert mass.derivation.tree == own.derivation.tree
            assert mass.derivation.segmentation == own.derivation.segmentation
            assert mass.derivation.log_probs == pytest.approx(own.derivation.log_probs, abs=1e-5)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_finite_beam_reports_no_more(name):
    model = tiny_model(name, max_segments=3)
    sources = sentences(model, [4, 6, 1])
    prepared = prepare(model, sources, SMALL)
    best = [result.hypotheses[0] for result in prepared.decode()]
    targets = [own.tokens for own in best]
    flat = [own[0] for own in decode_flat(model, sources, SMALL)]
    together = target_mass(model, sources, targets, SMALL)
    for sentence, mass in enumerate(together):
        assert mass.log_mass >= best[sentence].log_prob - 1e-5
        (alone,) = target_mass(model, [sources[sentence]], [targets[sentence]], SMALL)
        assert alone.log_mass == pytest.approx(mass.log_mass, abs=1e-5)
        if targets[sentence] == flat[sentence].tokens:
            assert mass.flat_log_prob == pytest.approx(flat[sentence].log_prob, abs=1e-5)


def test_a_target_that_no_phrases_reach_over_costs_no_tables(monkeypatch):
    """Tables over all pairs of its positions would take gigabytes."""
    sizes = []

    def counted(phrases, sentence, target, posts, places):
        sizes.append(len(places))
        return np.zeros((0, 0, 0))

    monkeypatch.setattr(target_mass_module, "_phrase_tables", counted)
    model = tiny_model(max_segments=3)
    (source,) = sentences(model, [5])
    (mass,) = target_mass(model, [source], [(7,) * 3000], SMALL)
    assert (mass.log_mass, mass.derivation, sizes) == (-math.inf, None, [0])


def test_a_pair_whose_chart_is_too_large_is_refused(monkeypatch):
    model = tiny_model(max_segments=4)
    (source,) = sentences(model, [8])
    options = replace(SMALL, span_threshold=0.0, max_segments=4)
    target_mass(model, [source], [(7,) * 6], options)
    monkeypatch.setattr(target_mass_module, "MOST_BYTES", 1e5)
    with pytest.raises(ValueError, match=r"8 source and 6 target words takes .* GB.*raise span_"):
        target_mass(model, [source], [(7,) * 6], options)


def test_the_longest_target_that_phrases_reach_over():
    model = tiny_model(max_segments=3)
    (source,) = sentences(model, [5])
    options = replace(SMALL, max_output_ratio=0.5, max_output_extra=2, flat_weight=0.0)
    # Phrases of 1, 1 and 3 tokens: 1 + 2, 1 + 2 and 2 + 2.
    (longest, longer) = target_mass(model, [source] * 2, [(7,) * 10, (7,) * 11], options)
    assert math.isfinite(longest.log_mass)
    assert longer.log_mass == -math.inf


def test_special_cases():
    model = tiny_model(max_segments=3)
    (source,) = sentences(model, [5])
    # too long for the chart: flat
    (mass,) = target_mass(model, [source], [(5, 6)], replace(SMALL, max_cky_length=4))
    assert mass.log_mass == mass.flat_log_prob
    # one token cannot be two phrases
    (mass,) = target_mass(model, [source], [(7,)], SMALL)
    assert len(mass.derivation.phrases) == 1
    # what decoding can never say
    phrases_only = replace(SMALL, flat_weight=0.0)
    start = model.backbone.segment_start
    for target, options in [((7,), phrases_only), ((7, start, 9), SMALL), ((7,) * 30, SMALL)]:
        (mass,) = target_mass(model, [source], [target], options)
        assert mass.log_mass == -math.inf
        assert mass.derivation is None
        assert math.isfinite(mass.flat_log_prob)
    with pytest.raises(ValueError, match="1 sources but 2 targets"):
        target_mass(model, [source], [(5,), (6,)])
