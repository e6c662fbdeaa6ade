"""Batches of beam search; its strings are compared with Hugging Face's in test_flat."""

from types import SimpleNamespace

import torch
from decoding_models import tiny_model
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import every_family

from btg_seq2seq.decoding.search.beams import Level, length_batches, most_rows
from btg_seq2seq.model.decoding_settings import DecodingSettings


@given(
    st.lists(st.integers(1, 60), max_size=40), st.sampled_from([1, 5]), st.sampled_from([1, 300])
)
def test_batches_have_every_row_once_and_keep_to_the_budget(lengths, beam_size, budget):
    settings = DecodingSettings(beam_size, batch_tokens=budget)
    batches = list(length_batches(lengths, settings))
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        longest = max(lengths[row] for row in rows)
        assert len(rows) == 1 or len(rows) * longest * beam_size <= budget
    assert [*batches] == [*length_batches(lengths, settings)]
    assert all(len(rows) <= 2 for rows in length_batches(lengths, settings, most=2))


def test_large_vocabularies_have_few_rows():
    backbone = SimpleNamespace(vocabulary_size=256_000)
    rows = most_rows(backbone, DecodingSettings(beam_size=5))
    assert 4 * 256_000 * 5 * rows <= 2**28 < 4 * 256_000 * 5 * (rows + 1)  # bytes
    assert most_rows(backbone, DecodingSettings(beam_size=1000)) == 1


def test_short_rows_do_not_wait_for_long_ones():
    lengths = [40] * 20 + [2] * 20
    batches = list(length_batches(lengths, DecodingSettings(batch_tokens=10**6)))
    assert batches == [list(range(20)), list(range(20, 40))]
    # but steps have a price too
    assert len([*length_batches([40, 39, 38], DecodingSettings(batch_tokens=10**6))]) == 1


@every_family
def test_sentences_and_phrases_do_not_share_special_tokens(name):
    backbone = tiny_model(name).backbone
    sentence, phrase = Level.sentence(backbone), Level.phrase(backbone)
    assert {backbone.segment_start, backbone.segment_end} <= {*sentence.banned}
    assert {backbone.sentence_end, backbone.segment_start, *sentence.prompt} <= {*phrase.banned}
    assert sentence.end not in sentence.banned
    assert phrase.end not in phrase.banned


def test_what_may_follow_a_string():
    backbone = tiny_model().backbone
    for level in (Level.sentence(backbone), Level.phrase(backbone)):
        for length, limit in ((0, 2), (1, 2), (2, 2)):
            scores = torch.zeros(1, backbone.vocabulary_size)
            level.forbid(scores, torch.tensor(level.banned), length, torch.tensor([limit]))
            allowed = {*(scores[0] > -torch.inf).nonzero()[:, 0].tolist()}
            may_end = length > 0 or level.may_be_empty
            assert (level.end in allowed) == may_end
            others = {*range(backbone.vocabulary_size)} - {*level.banned, level.end}
            assert allowed - {level.end} == (others if length < limit else set())
