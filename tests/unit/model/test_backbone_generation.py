"""Generation: sentences without segment tokens, as probable as the backbone says."""

import pytest
import torch
from tiny_models import batch_of, every_family, tiny_backbone


@every_family
@pytest.mark.parametrize("beams", [1, 3])
def test_generated_sentences_have_the_prompt_and_no_segment_tokens(name, beams):
    backbone = tiny_backbone(name)
    input_ids, mask, _ = batch_of(backbone)
    options = {"max_new_tokens": 8, "num_beams": beams, "do_sample": False}
    prompt = torch.tensor(backbone.sentence_prompt())
    known = {*prompt.tolist(), backbone.pad, backbone.sentence_end}
    plain = backbone.generate(input_ids, mask, **options)
    assert (plain[:, : len(prompt)] == prompt).all()
    # What the model likes best is made a segment token: it must find something else.
    favourites, counts = plain.unique(return_counts=True)
    favourites = [t for t in favourites[counts.argsort(descending=True)].tolist() if t not in known]
    start, end, *_ = [*favourites, *({30, 31} - {*favourites})]
    backbone.add_segment_ids(start, end)
    generated = backbone.generate(input_ids, mask, suppress_tokens=[20], **options)
    assert not torch.isin(generated, torch.tensor([start, end, 20])).any()
    assert (generated[:, : len(prompt)] == prompt).all()
    assert favourites, "the model wrote nothing: the test shows nothing"


@every_family
def test_greedy_generation_follows_token_log_probs(name):
    backbone = tiny_backbone(name)
    backbone.add_segment_ids(30, 31)
    input_ids, mask, _ = batch_of(backbone)
    generated = backbone.generate(input_ids, mask, max_new_tokens=6, num_beams=1, do_sample=False)
    hidden = backbone.decode(generated[:, :-1], backbone.encode(input_ids, mask), mask)
    logits = backbone.logits(hidden)[:, len(backbone.prefix) :]
    logits[..., [30, 31]] = -torch.inf
    best = logits.argmax(-1)[:, :4]  # the last is forced to be the end in some families
    written = generated[:, len(backbone.sentence_prompt()) :][:, :4]
    ended = (written == backbone.sentence_end).cumsum(1) - (written == backbone.sentence_end).int()
    assert ((written == best) | (ended > 0)).all()
