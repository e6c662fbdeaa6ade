"""Derivations of sentence pairs that are given: trees, phrase pairs, alignments.

The posterior parser, which has seen both sides, chooses the tree, and the leaf CRF the target's
phrases along it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import LeafCRF, Segmentation, Tree, TreeCRF
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Reading
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.length_batches import length_batches
from btg_seq2seq.translation.source_text import SourceText
from btg_seq2seq.translation.translation import Derivation, Phrase, Translation

BATCH_TOKENS = 4096  # of source and target, padding included
BATCH_SPLITS = 2**22  # of the longer side


@dataclass(frozen=True)
class PairDerivation:
    """The derivation of a sentence pair, in tokens: the best tree, and target phrases along it."""

    tree: Tree
    segmentation: Segmentation  # of the target, in target order
    log_probs: list[float]  # of each target phrase, given its source phrase
    prior_tree: Tree  # with as many leaves, by the parser that sees the source alone


def best_derivations(
    model: BTGSeq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    segments: Sequence[int] | int | None = None,
) -> list[PairDerivation | None]:
    """Derivations of sentence pairs, tokens without a frame; nothing where there can be none.

    That is where a side is empty or longer than the grammar holds. ``segments`` is the number of
    phrases, for all or for each pair; as many as the model allows unless given. A pair too short
    for its number has one phrase for each token of its shorter side.
    """
    most = model.config.max_segments if segments is None else segments
    wanted = [most] * len(sources) if isinstance(most, int) else list(most)
    if any(count < 1 for count in wanted):
        raise UserError(f"segments must be 1 or more, not {min(wanted)}")
    pairs = list(zip(sources, targets, strict=True))
    usable = [
        rank
        for rank, pair in enumerate(pairs)
        if all(pair) and max(map(len, pair)) <= model.config.max_grammar_length
    ]
    results: list[PairDerivation | None] = [None] * len(pairs)
    for ranks in length_batches([max(map(len, pair)) for pair in pairs], _fits, usable):
        counts = [min(wanted[rank], *map(len, pairs[rank])) for rank in ranks]
        with evaluating(model):
            found = _derive(model, [pairs[rank] for rank in ranks], counts)
        for rank, derivation in zip(ranks, found, strict=True):
            results[rank] = derivation
    return results


def _fits(count: int, longest: int) -> bool:
    """Return whether a batch of this size is small enough."""
    return count * 2 * longest <= BATCH_TOKENS and count * split_count(longest) <= BATCH_SPLITS


def _derive(
    model: BTGSeq2Seq,
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    segments: Sequence[int],
) -> list[PairDerivation]:
    reading = _read(model, pairs)
    pair = reading.pair
    assert pair is not None  # no pair is longer than the grammar holds
    limit = model.config.max_phrase_length
    counts = torch.tensor(segments)
    prior, posterior = (
        TreeCRF(scores, pair.source.lengths, counts, limit).argmax
        for scores in (pair.prior_scores, pair.posterior_scores)
    )
    leaves = LeafCRF(pair.leaf_scores, pair.target.lengths, posterior, limit).argmax
    log_probs = model.phrase_log_probs(pair, PhrasePairs.forward(posterior, leaves))
    # One phrase is a whole sentence, which the model translates as such.
    is_whole = (counts == 1).to(log_probs.device)
    log_probs[:, 0] = torch.where(is_whole, reading.flat_log_prob, log_probs[:, 0])
    rows = zip(posterior, leaves, log_probs.tolist(), prior, strict=True)
    return [
        PairDerivation(tree, phrases, row[: len(phrases)], prior_tree)
        for tree, phrases, row, prior_tree in rows
    ]


def _read(model: BTGSeq2Seq, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Reading:
    """The passes of the model over a batch."""
    config, backbone = model.config, model.backbone
    sources = [[*config.prefix, *source, *config.suffix] for source, _ in pairs]
    labels = _padded([[*target, backbone.sentence_end] for _, target in pairs], IGNORED, model)
    input_ids = _padded(sources, backbone.pad, model)
    lengths = torch.tensor([len(row) for row in sources], device=model.device)
    mask = torch.arange(input_ids.shape[1], device=model.device) < lengths[:, None]
    return model.read(input_ids, mask.long(), labels)


def _padded(rows: Sequence[Sequence[int]], filler: int, model: BTGSeq2Seq) -> Tensor:
    tensors = [torch.tensor(row, device=model.device) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=filler)


def aligned(source: SourceText, target: SourceText, found: PairDerivation | None) -> Translation:
    """A pair and its derivation as text; the log-probability is that of its phrases.

    Without a derivation it is nothing, but for two empty sides.
    """
    log_prob = -math.inf if source.tokens or target.tokens else 0.0
    given = Translation(target.text, log_prob, (target.tokens,), source=source.text, mode="given")
    if found is None:
        return given
    phrases = tuple(
        Phrase.between(
            source.text,
            target.text,
            tokens=tokens,
            source_span=source.characters(*tokens),
            target_span=target.characters(*own),
            log_prob=log_prob,
        )
        for tokens, own, log_prob in zip(
            found.tree.phrases, found.segmentation, found.log_probs, strict=True
        )
    )
    derivation = Derivation(found.tree, phrases)
    return replace(given, log_prob=sum(found.log_probs), derivation=derivation)
