"""Tiny models of every family with grammars, sentences for them, and checks of what is decoded."""

from itertools import pairwise

import pytest
import torch
from tiny_models import VOCABULARY, tiny_backbone, tokens

from btg_seq2seq.decoding import flat
from btg_seq2seq.decoding.chart import cky
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq


def prepare(model, sources, settings=None):
    """Cky decoding with a seq2seq model."""
    phrases = Seq2SeqPhrases(model, sources, settings)
    return cky.prepare(phrases, phrases.grammar, settings)


def decode_flat(model, sources, settings=None, nbest=1):
    """Flat decoding with a seq2seq model."""
    return flat.decode_flat(Seq2SeqPhrases(model, sources, settings), nbest, settings)


SMALL = DecodingSettings(beam_size=3, max_output_ratio=1.0, max_output_extra=2, batch_tokens=400)


def tiny_model(name="t5", **settings):
    backbone = tiny_backbone(name)
    backbone.add_segment_ids(VOCABULARY, VOCABULARY + 1)
    torch.manual_seed(11)
    model = BTGSeq2Seq(BTGSeq2SeqConfig(backbone=backbone.model.config, **settings), backbone)
    with torch.no_grad():  # trees that are not all alike
        model.prior.output *= 10
    return model.eval()


def sentences(model, lengths, seed=0):
    """Token ids with their frame."""
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    return [[*config.prefix, *tokens(generator, n), *config.suffix] for n in lengths]


def phrase_log_prob(model, source, start, stop, target):
    """What the objective would give the phrase pair: the only one of its sentence pair."""
    labels = torch.tensor([[*target, model.backbone.sentence_end]])
    input_ids = torch.tensor([source])
    pair = model.read(input_ids, torch.ones_like(input_ids), labels).pair
    pairs = PhrasePairs(
        torch.tensor([[0, int(pair.target.units)]]),
        torch.tensor([[[start, stop]]]),
        torch.tensor([1]),
    )
    return model.phrase_log_probs(pair, pairs)[0, 0].item()


def check_provenance(hypothesis, length):
    """The phrases make the string, in the order of the tree, and tile the source."""
    derivation, phrases = hypothesis.derivation, hypothesis.phrases
    assert tuple(token for phrase in phrases for token in phrase.tokens) == hypothesis.tokens
    assert [(phrase.start, phrase.stop) for phrase in phrases] == [*derivation.tree.phrases]
    ends = sorted((phrase.start, phrase.stop) for phrase in phrases)
    assert ends[0][0] == 0
    assert ends[-1][1] == length
    assert all(one[1] == other[0] for one, other in pairwise(ends))
    assert all(phrase.tokens or len(phrases) == 1 for phrase in phrases)


def assert_same(one, other):
    """Two results of cky say the same."""
    assert one.fallback == other.fallback
    for mine, yours in zip(one.hypotheses, other.hypotheses, strict=True):
        assert mine.segment_posterior == pytest.approx(yours.segment_posterior, abs=1e-4)
        assert mine.tokens == yours.tokens
        assert mine.log_prob == pytest.approx(yours.log_prob, abs=1e-4)
        assert mine.derivation.tree == yours.derivation.tree
        assert [p.tokens for p in mine.phrases] == [p.tokens for p in yours.phrases]


def check_rules(result, rules):
    """Forced spans are phrases with a target of their rule; no rule has another target."""
    for own in result.hypotheses:
        phrases = {(phrase.start, phrase.stop): phrase for phrase in own.phrases}
        for rule in rules:
            phrase = phrases.get((rule.start, rule.stop))
            if rule.mode == "force":
                assert phrase is not None
                assert phrase.rule == rule.rule
                assert phrase.tokens in rule.targets
        for phrase in phrases.values():
            if phrase.rule is not None:
                (rule,) = [rule for rule in rules if rule.rule == phrase.rule]
                assert phrase.tokens in rule.targets
