"""Source sentences and phrases as the decoder looks at them: encoder states and a mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.model.reading import Side
from btg_seq2seq.model.transducer import BTGSeq2Seq


@dataclass(frozen=True)
class Source:
    """A sentence: its tokens with those that frame it, and the states of all of them."""

    tokens: Tensor  # [framed]
    states: Tensor  # [framed, hidden]
    begin: int  # first token that is the sentence's own
    length: int  # tokens that are its own

    @property
    def own_tokens(self) -> Tensor:
        """The tokens without frame, ``[length]``."""
        return self.tokens[self.begin : self.begin + self.length]

    @property
    def own_states(self) -> Tensor:
        """Their states, ``[length, hidden]``."""
        return self.states[self.begin : self.begin + self.length]


def check_sources(model: BTGSeq2Seq, sources: Sequence[Sequence[int]]) -> None:
    """Refuse sentences with nothing in their frame."""
    frame = len(model.config.prefix) + len(model.config.suffix)
    for sentence, tokens in enumerate(sources):
        if len(tokens) <= frame:
            raise ValueError(f"sentence {sentence}: it has no tokens of its own")


def to_device(model: BTGSeq2Seq, tokens: Sequence[int]) -> Tensor:
    """Token ids where the model is."""
    return torch.tensor(list(tokens), dtype=torch.long, device=model.device)


def encode_sentences(model: BTGSeq2Seq, rows: Sequence[Sequence[int]]) -> list[Source]:
    """Encode sentences side by side; tokens are as the tokenizer makes them, with their frame."""
    config = model.config
    frame = len(config.prefix) + len(config.suffix)
    tokens = [to_device(model, row) for row in rows]
    lengths = torch.tensor([len(row) for row in tokens], device=model.device)
    input_ids = pad_sequence(tokens, batch_first=True, padding_value=model.backbone.pad)
    mask = torch.arange(input_ids.shape[1], device=model.device) < lengths[:, None]
    states = model.backbone.encode(input_ids, mask)
    return [
        Source(row, state[: len(row)], len(config.prefix), len(row) - frame)
        for row, state in zip(tokens, states, strict=True)
    ]


def padded_states(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """States of different lengths in one tensor ``[rows, longest, hidden]``, and their mask."""
    lengths = torch.tensor([len(row) for row in rows], device=rows[0].device)
    states = pad_sequence(list(rows), batch_first=True)
    return states, torch.arange(states.shape[1], device=states.device) < lengths[:, None]


def phrase_states(
    model: BTGSeq2Seq, phrases: Sequence[tuple[Source, int, int]]
) -> tuple[Tensor, Tensor]:
    """States ``[phrases, longest, hidden]`` of spans ``(source, start, stop)``, and their mask.

    The same states that ``model.phrase_log_probs`` scores phrase pairs with: of the sentence, or,
    for phrases that are encoded alone, their own.
    """
    if model.config.phrase_encoding == "sentence":
        return padded_states([source.own_states[i:k] for source, i, k in phrases])
    tokens = [source.own_tokens[i:k] for source, i, k in phrases]
    lengths = torch.tensor([len(row) for row in tokens], device=model.device)
    padded = pad_sequence(tokens, batch_first=True, padding_value=model.backbone.pad)
    return model.encode_alone(Side(padded, lengths))
