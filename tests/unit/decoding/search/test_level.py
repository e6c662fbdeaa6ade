"""Special tokens of sentences and phrases, and what may follow a string."""

import torch
from decoding_models import tiny_model
from tiny_models import every_family

from btg_seq2seq.decoding.search.level import Level


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
