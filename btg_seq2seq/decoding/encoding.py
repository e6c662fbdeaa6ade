"""Source sentences and phrases as the decoder attends to them: encoder states and a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.grammar import Span
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.units import fenceposts_of


@dataclass(frozen=True)
class Source:
    """A sentence: its tokens, including the frame, and their states once it is encoded."""

    tokens: Tensor  # [framed]
    encoded: Tensor | None  # [framed, hidden]
    begin: int  # first token after the frame's prefix
    posts: Sequence[int]  # where units meet, in tokens without the frame

    @classmethod
    def of(
        cls, model: BTGSeq2Seq, tokens: Sequence[int], posts: Sequence[int] | None = None
    ) -> Source:
        """Make a sentence that is not encoded yet; its units are the model's unless given."""
        config = model.config
        begin, end = len(config.prefix), len(tokens) - len(config.suffix)
        if posts is None:
            posts = fenceposts_of(model.unit_table, tokens[begin:end])
        return cls(to_device(model, tokens), None, begin, posts)

    @property
    def length(self) -> int:
        """Number of tokens without the frame."""
        return self.posts[-1]

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.posts) - 1

    def in_tokens(self, start: int, stop: int) -> Span:
        """Turn a span of units into a span of tokens."""
        return self.posts[start], self.posts[stop]

    @property
    def states(self) -> Tensor:
        """The states, ``[framed, hidden]``."""
        assert self.encoded is not None
        return self.encoded

    @property
    def unframed_tokens(self) -> Tensor:
        """The tokens without the frame, ``[length]``."""
        return self.tokens[self.begin : self.begin + self.length]

    @property
    def unframed_states(self) -> Tensor:
        """The states of these tokens, ``[length, hidden]``."""
        return self.states[self.begin : self.begin + self.length]


def check_sources(model: BTGSeq2Seq, sources: Sequence[Sequence[int]]) -> None:
    """Refuse sentences that have only a frame."""
    frame = len(model.config.prefix) + len(model.config.suffix)
    for sentence, tokens in enumerate(sources):
        if len(tokens) <= frame:
            raise ValueError(f"sentence {sentence}: it has no tokens of its own")


def to_device(model: BTGSeq2Seq, tokens: Sequence[int]) -> Tensor:
    """Put token ids on the device of the model."""
    return torch.tensor(list(tokens), dtype=torch.long, device=model.device)


def encode_sources(model: BTGSeq2Seq, sources: Sequence[Source]) -> list[Source]:
    """Encode sentences together; returns them with their states."""
    lengths = torch.tensor([len(source.tokens) for source in sources], device=model.device)
    tokens = [source.tokens for source in sources]
    input_ids = pad_sequence(tokens, batch_first=True, padding_value=model.backbone.pad)
    mask = torch.arange(input_ids.shape[1], device=model.device) < lengths[:, None]
    states = model.backbone.encode(input_ids, mask)
    return [
        replace(source, encoded=state[: len(source.tokens)])
        for source, state in zip(sources, states, strict=True)
    ]


def padded_states(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Pad states to one tensor ``[rows, longest, hidden]``; also returns their mask."""
    lengths = torch.tensor([len(row) for row in rows], device=rows[0].device)
    states = pad_sequence(list(rows), batch_first=True)
    return states, torch.arange(states.shape[1], device=states.device) < lengths[:, None]


def phrase_states(
    model: BTGSeq2Seq, phrases: Sequence[tuple[Source, int, int]]
) -> tuple[Tensor, Tensor]:
    """Return states ``[phrases, longest, hidden]`` of spans ``(source, start, stop)``, and a mask.

    Spans count units. These are the states with which ``model.phrase_log_probs`` scores phrase
    pairs: slices of the sentence's states, those of the phrase encoded by itself, or the mean of
    both, as ``phrase_encoding`` says.
    """
    slices = [(source, slice(*source.in_tokens(i, k))) for source, i, k in phrases]
    encoding = model.config.phrase_encoding
    if encoding != "alone":
        states, mask = padded_states([source.unframed_states[part] for source, part in slices])
        if encoding == "sentence":
            return states, mask
    tokens = [source.unframed_tokens[part] for source, part in slices]
    lengths = torch.tensor([len(row) for row in tokens], device=model.device)
    padded = pad_sequence(tokens, batch_first=True, padding_value=model.backbone.pad)
    alone, mask = model.encode_alone(padded, lengths)
    return (alone if encoding == "alone" else (alone + states) / 2), mask
