"""Flat decoding (BTG-1): the seq2seq model alone translates whole sentences, by beam search."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from btg_seq2seq.decoding.encoding import Source, encode_sentences, padded_states
from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.search.beams import Beams, Level, beam_search, length_batches, most_rows
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.transducer import BTGSeq2Seq


def decode_flat(
    model: BTGSeq2Seq,
    sources: Sequence[Sequence[int]],
    settings: DecodingSettings | None = None,
    nbest: int = 1,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence with ``log p(y | x)``, best first.

    ``sources`` are token ids with the frame that the tokenizer gives them. No hypothesis depends
    on the other sentences.
    """
    settings = settings or model.decoding
    results: list[list[Hypothesis]] = [[] for _ in sources]
    with evaluating(model):
        lengths = [len(tokens) for tokens in sources]
        for rows in length_batches(lengths, settings, most_rows(model.backbone, settings)):
            encoded = encode_sentences(model, [sources[row] for row in rows])
            beams = search_sentences(model, encoded, settings)
            for row, hypotheses in zip(rows, to_hypotheses(beams, nbest), strict=True):
                results[row] = hypotheses
    return results


def search_sentences(
    model: BTGSeq2Seq, sources: Sequence[Source], settings: DecodingSettings
) -> Beams:
    """Beam search over whole sentences that are already encoded."""
    states, mask = padded_states([source.states for source in sources])
    limits = [settings.longest_output(source.length) for source in sources]
    level = Level.sentence(model.backbone)
    limit = torch.tensor(limits, device=states.device)
    return beam_search(model.backbone, level, states, mask, limit, settings)


def to_hypotheses(beams: Beams, nbest: int) -> list[list[Hypothesis]]:
    """Plain objects, at most ``nbest`` a row."""
    tokens, lengths = beams.tokens.tolist(), beams.lengths.tolist()
    log_probs = beams.log_probs.tolist()
    return [
        [
            Hypothesis(tuple(string[:length]), log_prob, None)
            for string, length, log_prob in zip(*row, strict=True)
            if log_prob > -torch.inf
        ][:nbest]
        for row in zip(tokens, lengths, log_probs, strict=True)
    ]
