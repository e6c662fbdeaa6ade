"""``btg augment``: a model's own phrases, recombined to new sentence pairs for any toolkit."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as count_from
from pathlib import Path

import numpy as np
from jsonargparse import ArgumentParser, Namespace
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.checks import at_least
from btg_seq2seq.cli.arguments import checked_pairs, command_parser, load_translator
from btg_seq2seq.errors import UserError
from btg_seq2seq.text import Bitext, read_lines, write_lines
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.training.collected import Derivations
from btg_seq2seq.training.data import encode
from btg_seq2seq.training.partners import continuing_tokens
from btg_seq2seq.training.recombination import HeldOut, RecombinationSettings, Recombiner

DESCRIPTION = """Make new sentence pairs by swapping the aligned phrases that a model finds in a
bitext. The result is plain text, one sentence a line, for any toolkit."""


def main(arguments: Sequence[str]) -> int:
    """Write recombined bitext; say on stderr what it took."""
    options = _parser().parse_args(list(arguments))
    _check(options)
    settings = RecombinationSettings(rate=options.rate, overlap=options.overlap, rare=options.rare)
    excluded = [line for path in options.exclude for line in read_lines(path)]
    bitext = Bitext.from_files(options.source, options.target)
    if not len(bitext):
        raise UserError(f"{options.source} is empty: there is nothing to recombine")
    wanted = len(bitext) if options.count is None else options.count

    translator = load_translator(options)
    deque(checked_pairs(translator, bitext, options), maxlen=0)
    model, tokenizer = translator.model, translator.tokenizer
    longest = model.backbone.family.longest(model.backbone.model.config)
    continuing = continuing_tokens(tokenizer)  # refuses what does not mark words
    examples = encode(bitext, tokenizer, Frames.of(tokenizer), longest, "skip")
    _say(examples.summary())
    derivations = Derivations.collect(
        model,
        examples,
        batch_size=options.batch_size,
        segment_rate=options.segment_rate,
        seed=options.seed,
        track=_track,
    )
    recombiner = Recombiner(
        derivations,
        examples,
        settings,
        HeldOut(excluded, tokenizer),
        continuing,
    )
    new = augment(recombiner, tokenizer, wanted, options.seed)
    if not new.pairs and new.unknown:
        raise UserError(
            f"no new sentence pair can be made: all {new.unknown} that were have words that the "
            "tokenizer does not know"
        )
    if not new.pairs:
        raise UserError(
            "no new sentence pair can be made: no phrase of the bitext can be swapped for another "
            f"({len(derivations)} sentences, {_without_tree(derivations)} of them without a tree)"
        )
    sources, targets = zip(*new.pairs, strict=True)
    write_lines(options.output_source, sources)
    write_lines(options.output_target, targets)
    _say(f"{len(new.pairs)} new pairs in {options.output_source} and {options.output_target}")
    if len(new.pairs) < wanted:
        _say(f"{wanted} were wanted, but no more than these were found")
    coincidences = recombiner.tries.coincidences
    _say(f"{coincidences} coincidences with excluded sources, none of them written")
    if without := _without_tree(derivations):
        _say(f"{without} sentences are too long for trees (max_grammar_length) and gave no phrases")
    if new.unknown:
        _say(f"{new.unknown} pairs left out because of words that the tokenizer does not know")
    return 0


@dataclass
class Augmented:
    """What ``augment`` made, and what it threw away."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    unknown: int = 0


def augment(
    recombiner: Recombiner,
    tokenizer: PreTrainedTokenizerBase,
    count: int,
    seed: int,
) -> Augmented:
    """Up to ``count`` different new sentence pairs as text; fewer where there seem to be no more.

    Sources of the bitext itself are never among them.
    """
    new = Augmented()
    examples = recombiner.examples
    own = [list(examples.source[position]) for position in range(len(examples))]
    seen = set(map(tuple, own))
    # The same text may be made of other tokens, where phrases meet.
    texts = set(tokenizer.batch_decode(own, skip_special_tokens=True))
    for number in count_from():
        before = len(new.pairs)
        for pair in _round(recombiner, seed, number, seen):
            if any(tokenizer.unk_token_id in tokens for tokens in pair):
                new.unknown += 1
                continue
            read, written = (
                str(tokenizer.decode(tokens, skip_special_tokens=True)) for tokens in pair
            )
            if read in texts:
                continue
            texts.add(read)
            new.pairs.append((read, written))
            if len(new.pairs) == count:
                return new
        if (len(new.pairs) - before) * 100 < len(examples):
            break  # a round that found next to nothing
    return new


def _round(
    recombiner: Recombiner, seed: int, number: int, seen: set[tuple[int, ...]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Recombine every sentence once; what is new is added to what was seen."""
    order = np.random.default_rng([seed, number]).permutation(len(recombiner.examples))
    for position in order.tolist():
        made = recombiner.recombine(position, seed, number)
        if made is not None and tuple(made[0]) not in seen:
            seen.add(tuple(made[0]))
            yield made


def _check(options: Namespace) -> None:
    """Refuse numbers that make no sense, to write over what is read, or both sides into a file."""
    at_least(1, "--batch_size", options.batch_size)
    at_least(1, "--count", options.count)
    outputs = [options.output_source, options.output_target]
    inputs = {Path(path).resolve() for path in (options.source, options.target, *options.exclude)}
    for path in outputs:
        if Path(path).resolve() in inputs:
            raise UserError(f"{path} is read: it cannot be written too; choose another output")
    if len({Path(path).resolve() for path in outputs}) < 2:
        raise UserError(f"both outputs are {outputs[0]}: each side needs a file of its own")


def _without_tree(derivations: Derivations) -> int:
    return int((np.diff(derivations.ends) == 0).sum())


def _track(batches: Sequence[NDArray[np.int64]], description: str) -> Iterable[NDArray[np.int64]]:
    console = Console(stderr=True)
    return track(batches, description, console=console, disable=not console.is_terminal)


def _say(message: str) -> None:
    print(message, file=sys.stderr)


def _parser() -> ArgumentParser:
    parser = command_parser("augment", DESCRIPTION, decoding=False)
    parser.add_argument("source", help="source sentences, one a line")
    parser.add_argument("target", help="their translations")
    parser.add_argument("--output_source", required=True, help="file for the new sources")
    parser.add_argument("--output_target", required=True, help="file for their translations")
    parser.add_argument("--count", type=int | None, help="how many pairs; as many as are read")
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        help="files with sources that must not be made, such as those of test sets",
    )
    parser.add_argument("--seed", type=int, default=0, help="what decides all that is random")
    parser.add_argument("--batch_size", type=int, default=64, help="sentences parsed at a time")
    parser.add_argument(
        "--segment_rate",
        type=float | None,
        help="draw the number of phrases of a sentence with "
        "this rate, rather than cut it into as many as possible",
    )
    parser.add_class_arguments(RecombinationSettings)
    return parser
