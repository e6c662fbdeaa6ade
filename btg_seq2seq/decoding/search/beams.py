"""Beam search with true probabilities, for sentences and for phrases: Hugging Face's ``generate``.

Every row has its own length limit, and every hypothesis an end token. So no hypothesis depends on
the other rows, and every score is the log-probability of a whole string.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import (
    DynamicCache,
    EncoderDecoderCache,
    LogitsProcessor,
    LogitsProcessorList,
)
from transformers.modeling_outputs import BaseModelOutput

from btg_seq2seq.model.backbone import KEPT_LOGITS, Backbone
from btg_seq2seq.model.decoding_settings import DecodingSettings

# Settings that pretrained models may have, with which scores would not be probabilities.
PLAIN_SEARCH = {
    "do_sample": False,
    "early_stopping": False,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "bad_words_ids": None,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "exponential_decay_length_penalty": None,
    "max_length": None,
    "min_length": 0,
    "min_new_tokens": None,
    "max_time": None,
    "renormalize_logits": False,
    "remove_invalid_values": False,
    "use_cache": True,
    "output_scores": False,
    "output_logits": False,
    "output_attentions": False,
    "output_hidden_states": False,
}
# Fixed cost of a decoder step, in rows: weights are read, kernels started.
STEP_COST = 16


@dataclass(frozen=True)
class Level:
    """Start, end and banned tokens of hypotheses: whole sentences or phrases."""

    prompt: tuple[int, ...]
    end: int
    banned: tuple[int, ...]
    may_be_empty: bool

    @classmethod
    def sentence(cls, backbone: Backbone) -> Level:
        """Make the level of whole sentences: no segment tokens."""
        banned = {backbone.pad}
        if backbone.has_segment_tokens:
            banned |= {backbone.segment_start, backbone.segment_end}
        return cls(backbone.sentence_prompt(), backbone.sentence_end, tuple(sorted(banned)), True)

    @classmethod
    def phrase(cls, backbone: Backbone) -> Level:
        """Make the level of phrases: no start or end of a sentence, and never empty."""
        banned = {backbone.pad, backbone.sentence_end, backbone.segment_start}
        banned |= {*backbone.sentence_prompt(), *backbone.phrase_prompt()}
        banned |= {*backbone.phrase_prompt(reverse=True)}
        return cls(backbone.phrase_prompt(), backbone.segment_end, tuple(sorted(banned)), False)

    def longest(self, backbone: Backbone, limit: int) -> int:
        """Return the most tokens of a hypothesis: the limit, or the positions of the model."""
        positions = backbone.family.longest(backbone.model.config)
        return limit if positions is None else min(limit, positions - len(self.prompt))

    def forbid(self, log_probs: Tensor, banned: Tensor, length: int, limits: Tensor) -> None:
        """Forbid, in place, tokens that cannot follow ``length`` tokens: ``[rows, vocabulary]``.

        ``banned`` are the level's banned tokens as a tensor; ``limits``, ``[rows]``, the lengths at
        which hypotheses must end.
        """
        ending = log_probs[:, self.end].clone()
        log_probs[:, banned] = -torch.inf
        log_probs.masked_fill_((length >= limits)[:, None], -torch.inf)
        if length == 0 and not self.may_be_empty:
            ending.fill_(-torch.inf)
        log_probs[:, self.end] = ending


@dataclass(frozen=True)
class Beams:
    """The best strings of each row, best first: by probability, or by probability per token."""

    tokens: Tensor  # [rows, beam, longest], without the prompt, followed by end token and padding
    lengths: Tensor  # [rows, beam]: tokens before the end
    log_probs: Tensor  # [rows, beam]; minus infinity where there are fewer strings


@torch.no_grad()
def beam_search(
    backbone: Backbone,
    level: Level,
    states: Tensor,
    mask: Tensor,
    limits: Tensor,
    settings: DecodingSettings,
) -> Beams:
    """Find the best ``beam_size`` strings given ``[rows, source, hidden]`` encoder states.

    ``mask``, ``[rows, source]``, marks the states that may be attended to. ``limits``, ``[rows]``,
    are the most tokens of a hypothesis, not counting its end token.
    """
    rows, beam = len(states), settings.beam_size
    limits = limits.clamp(max=level.longest(backbone, int(limits.max())))
    watch = _Watch(level, limits.repeat_interleave(beam), beam)
    generated = backbone.model.generate(
        encoder_outputs=BaseModelOutput(last_hidden_state=states),  # type: ignore[arg-type]
        attention_mask=mask.long(),
        decoder_input_ids=limits.new_tensor(level.prompt).expand(rows, -1),
        decoder_start_token_id=level.prompt[0],
        eos_token_id=level.end,
        pad_token_id=backbone.pad,
        num_beams=beam,
        num_return_sequences=beam,
        # Without beams it has no effect, and transformers warns of any other value.
        length_penalty=1.0 if settings.length_normalised or beam == 1 else 0.0,
        max_new_tokens=int(limits.max()) + 1,
        logits_processor=LogitsProcessorList([watch]),
        past_key_values=_BeamCache(DynamicCache(), DynamicCache()),
        return_dict_in_generate=True,
        **PLAIN_SEARCH,
    )
    tokens = generated.sequences[:, len(level.prompt) :]  # [rows beam, longest]
    ends = (tokens == level.end).int()
    has_end, lengths = ends.amax(1) > 0, ends.argmax(1)
    parents = None if beam == 1 else generated.beam_indices
    sums = watch.log_probs(tokens, lengths, parents)
    if parents is not None:
        # If there are fewer strings than places, search repeats some: from copies of the prompt,
        # or by continuing after an end token.
        has_end &= (parents[:, 0] % beam == 0) & ((parents >= 0).sum(1) == lengths + 1)
    sums = sums.masked_fill(~has_end | sums.isnan(), -torch.inf)
    shape = rows, beam
    return Beams(tokens.view(*shape, -1), lengths.view(shape), sums.view(shape))


class _BeamCache(EncoderDecoderCache):
    """A cache that leaves cross-attention alone: all beams of a row attend to the same source."""

    def reorder_cache(self, beam_idx: Any) -> None:
        self.self_attention_cache.reorder_cache(beam_idx)


class _Watch(LogitsProcessor):
    """Forbids tokens, ends hypotheses in time, and records probabilities without changing them.

    Hugging Face returns scores only for the whole vocabulary at every step. A beam can only
    continue with the best few of these, so only they are kept.
    """

    def __init__(self, level: Level, limits: Tensor, beam: int) -> None:
        self.level, self.limits, self.beam = level, limits, beam
        self.banned = limits.new_tensor(level.banned)
        self.steps: list[tuple[Tensor, Tensor]] = []  # best log-probabilities and their tokens

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        # Without beams, the scores are logits.
        log_probs = scores.float().log_softmax(-1) if self.beam == 1 else scores
        length = input_ids.shape[1] - len(self.level.prompt)
        self.level.forbid(log_probs, self.banned, length, self.limits)
        self.steps.append(log_probs.topk(min(2 * self.beam, log_probs.shape[1])))
        return log_probs

    def log_probs(self, tokens: Tensor, lengths: Tensor, parents: Tensor | None) -> Tensor:
        """Compute the log-probability of each string with its end token, ``[strings]``.

        ``parents``, ``[strings, steps]``, are the rows of the beam to which tokens were appended.
        """
        count, steps = tokens.shape
        if parents is None:
            parents = torch.arange(count, device=tokens.device)[:, None].expand(-1, steps)
        step = torch.arange(steps, device=tokens.device).expand_as(tokens)
        values = torch.stack([value for value, _ in self.steps[:steps]])  # [steps, rows, best]
        names = torch.stack([name for _, name in self.steps[:steps]])
        parents = parents.long().clamp(min=0)
        values, names = values[step, parents], names[step, parents]  # [strings, steps, best]
        is_this = names == tokens[..., None]
        # A token that ties with the last of the best may have been left out.
        known = torch.where(is_this, values, values[..., -1:]).amax(-1).double()
        return known.masked_fill(step > lengths[:, None], 0.0).sum(1)


def most_rows(backbone: Backbone, settings: DecodingSettings) -> int:
    """Return the number of rows whose logits fit into memory together."""
    return max(1, KEPT_LOGITS // (backbone.vocabulary_size * settings.beam_size))


def length_batches(
    lengths: Sequence[int], settings: DecodingSettings, most: int | None = None
) -> Iterator[list[int]]:
    """Yield batches of rows, longest first, within the budget of tokens and of ``most`` rows.

    A batch takes as many steps as its longest row. So the lengths are cut into ranges that minimise
    the total cost, where a step costs as much as its rows and ``STEP_COST`` more.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    ends = [end for end in range(1, len(order)) if lengths[order[end]] != lengths[order[end - 1]]]
    ends = [0, *ends, len(order)] if order else [0]
    step_cost = STEP_COST / settings.beam_size
    costs, begins = [0.0], [0]  # of all rows before each end, and the begin of their last range
    for end in ends[1:]:
        options = [
            (cost + (lengths[order[begin]] + 1) * (step_cost + end - begin), begin)
            for cost, begin in zip(costs, ends, strict=False)
        ]
        cost, begin = min(options)
        costs.append(cost)
        begins.append(begin)
    ranges, end = [], len(order)
    while end > 0:
        begin = begins[ends.index(end)]
        ranges.append(order[begin:end])
        end = begin
    for rows in reversed(ranges):
        size = max(1, settings.batch_tokens // (settings.beam_size * max(1, lengths[rows[0]])))
        size = size if most is None else min(size, most)
        for first in range(0, len(rows), size):
            yield rows[first : first + size]
