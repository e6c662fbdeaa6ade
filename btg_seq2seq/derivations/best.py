"""The most probable derivations of sentence pairs.

The posterior parser, which sees both sides, chooses the tree, and the leaf CRF chooses the target
phrases along it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree, truncated_geometric
from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.reading import Pair, Reading
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.modes import evaluating
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.text.length_batches import length_batches
from btg_seq2seq.text.units import fenceposts_of

SEGMENT_RATE = DecodingSettings.segment_rate
BATCH_TOKENS = 4096  # of source and target, padding included
BATCH_SPLITS = 2**22  # of the longer side

SentencePair = tuple[Sequence[int], Sequence[int]]  # source and target tokens


@dataclass(frozen=True)
class ParsedPair:
    """The trees that a model finds for a sentence pair."""

    derivation: Derivation  # along the best tree of the posterior parser
    prior_tree: Tree  # the best of the source parser, with the same number of leaves


def best_derivations(
    model: BTGSeq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    segments: Sequence[int] | int | None = None,
    segment_rate: float = SEGMENT_RATE,
) -> list[Derivation | None]:
    """Find the best derivation of each sentence pair; see ``parse_pairs``."""
    parsed = parse_pairs(model, sources, targets, segments, segment_rate)
    return [None if pair is None else pair.derivation for pair in parsed]


def parse_pairs(
    model: BTGSeq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    segments: Sequence[int] | int | None = None,
    segment_rate: float = SEGMENT_RATE,
) -> list[ParsedPair | None]:
    """Parse sentence pairs, given as tokens without a frame.

    A pair with an empty side, or with more than ``max_grammar_length`` units on a side, has no
    derivation: its result is ``None``. ``segments`` is the number of phrases, for all pairs or for
    each of them; a pair that is too short for it has one phrase per unit of its shorter side. By
    default, every number from two to the most that the model allows is tried, and the one whose
    derivation is most probable is taken: ``p(n) p(tree | x) p(y | x, tree)``, where n > 1 is
    geometrically distributed with ``segment_rate``.
    """
    most = model.config.max_segments if segments is None else segments
    wanted = [most] * len(sources) if isinstance(most, int) else list(most)
    if any(count < 1 for count in wanted):
        raise UserError(f"segments must be 1 or more, not {min(wanted)}")
    pairs = list(zip(sources, targets, strict=True))
    units = [[len(fenceposts_of(model.unit_table, one)) - 1 for one in pair] for pair in pairs]
    usable = [
        rank
        for rank, pair in enumerate(pairs)
        if all(pair) and max(units[rank]) <= model.config.max_grammar_length
    ]
    results: list[ParsedPair | None] = [None] * len(pairs)
    lengths = [max(map(len, pair)) for pair in pairs]
    fits = _fits([(lengths[rank], max(units[rank])) for rank in usable])
    for ranks in length_batches(lengths, fits, usable):
        counts = [min(wanted[rank], *units[rank]) for rank in ranks]
        with evaluating(model):
            chosen = [pairs[rank] for rank in ranks]
            rate = segment_rate if segments is None else None
            parsed = _parse(model, chosen, torch.tensor(counts), rate)
        for rank, pair in zip(ranks, parsed, strict=True):
            results[rank] = pair
    return results


def _fits(sizes: Iterable[tuple[int, int]]) -> Callable[[int, int], bool]:
    """Limit the size of batches; ``sizes`` are tokens and units of the longer side."""
    most_units: dict[int, int] = {}  # of sentences with no more tokens
    most = 0
    for tokens, units in sorted(sizes):
        most = most_units[tokens] = max(most, units)

    def fits(count: int, longest: int) -> bool:
        splits = split_count(most_units[longest])
        return count * 2 * longest <= BATCH_TOKENS and count * splits <= BATCH_SPLITS

    return fits


def _parse(
    model: BTGSeq2Seq, pairs: Sequence[SentencePair], most: Tensor, segment_rate: float | None
) -> list[ParsedPair]:
    """Parse a batch with ``most`` phrases each, ``[batch]``; or with fewer, by a segment rate."""
    reading = _read(model, pairs)
    pair = reading.pair
    assert pair is not None  # no pair is longer than the grammar allows
    if segment_rate is None:
        return _with_segments(model, reading, pair, most)[0]
    log_counts = truncated_geometric(segment_rate, most.clamp(min=2), at_least=2).cpu()
    results: list[ParsedPair] = []
    highest = torch.full((len(pairs),), -torch.inf, dtype=torch.double)
    for count in range(2, max(2, int(most.max())) + 1):
        segments = most.clamp(max=count)
        parsed, log_probs = _with_segments(model, reading, pair, segments)
        joint = log_probs.double().cpu() + log_counts[:, count - 1]
        is_better = (joint > highest) | (count == 2)
        highest = torch.where(is_better, joint, highest)
        results = [
            new if better and count <= largest else old
            for new, old, better, largest in zip(
                parsed, results or parsed, is_better.tolist(), most.tolist(), strict=True
            )
        ]
    return results


def _with_segments(
    model: BTGSeq2Seq, reading: Reading, pair: Pair, segments: Tensor
) -> tuple[list[ParsedPair], Tensor]:
    """Parse with given numbers of phrases; also returns ``log p(tree | x) p(y | x, tree)``."""
    parsers = Parsers.of(model, pair, segments.to(pair.states.device))
    best, prior = DerivationBatch.best(model, parsers), parsers.prior.argmax
    flat = reading.flat_log_prob.tolist()
    parsed = [
        # A single phrase is a whole sentence, and the model translates it as such.
        ParsedPair(replace(best[row], log_probs=(flat[row],)) if count == 1 else best[row], tree)
        for row, (count, tree) in enumerate(zip(segments.tolist(), prior, strict=True))
    ]
    return parsed, parsers.prior.log_prob(best.trees) + best.log_prob


def _read(model: BTGSeq2Seq, pairs: Sequence[SentencePair]) -> Reading:
    """Run the model's passes over a batch."""
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
