"""``btg augment``: the phrases of a bitext, recombined to new sentence pairs for any toolkit.

The phrases are those that a model finds or, with ``--lexical``, those of the lexical teacher.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from btg_seq2seq.checks import at_least
from btg_seq2seq.console.arguments import (
    add_quiet_option,
    check_options,
    checked_pairs,
    command_parser,
    load_translator,
    silence_libraries,
)
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import check_outputs
from btg_seq2seq.console.progress import tracker
from btg_seq2seq.errors import UserError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.recombination.settings import RecombinationSettings
from btg_seq2seq.text import Bitext, read_lines, write_lines

if TYPE_CHECKING:
    from torch import Tensor

    from btg_seq2seq.derivations.corpus import DerivationCorpus
    from btg_seq2seq.text import EncodedBitext

    Derived = tuple[DerivationCorpus, EncodedBitext, Any, Tensor | None]

OUTPUTS = ("--output-source", "--output-target")
LEXICAL = "--lexical"

DESCRIPTION = """Make new sentence pairs by swapping the aligned phrases of a bitext. The result is
plain text, one sentence per line, for any toolkit. A model finds the phrases: btg augment MODEL
SOURCE TARGET. Without a model, word translation tables find them: btg augment --lexical SOURCE
TARGET."""


def main(arguments: Sequence[str]) -> int:
    """Write recombined bitext; say on stderr what it took."""
    is_lexical = LEXICAL in arguments
    options = _parser(is_lexical).parse_args(arguments)
    if is_lexical:
        for name in ("threads", "count"):
            at_least(1, f"--{name}", options[name])
    else:
        check_options(options)
    outputs = {name: options[name.strip("-").replace("-", "_")] for name in OUTPUTS}
    inputs = [options.source, options.target, *options.exclude]
    check_outputs(outputs, inputs, options.get("model"))
    settings = RecombinationSettings(rate=options.rate, overlap=options.overlap, rare=options.rare)
    excluded = [line for path in options.exclude for line in read_lines(path)]
    bitext = Bitext.from_files(options.source, options.target)
    if not len(bitext):
        raise UserError(f"{options.source} is empty: there is nothing to recombine")
    messages = Messages("augment", options.quiet)
    derive = _lexical if is_lexical else _by_model
    return _augment(options, settings, excluded, messages, derive(options, bitext, messages))


def _by_model(options: Namespace, bitext: Bitext, messages: Messages) -> Derived:
    """The derivations that a model finds."""
    translator = load_translator(options, messages)
    from btg_seq2seq.recombination.collect import collect_derivations
    from btg_seq2seq.text.frames import Frames
    from btg_seq2seq.text.units import word_joins
    from btg_seq2seq.training.data import encode

    deque(checked_pairs(translator, bitext, options), maxlen=0)
    model, tokenizer = translator.model, translator.tokenizer
    word_joins(tokenizer)  # refuses what does not mark words
    longest = model.backbone.family.longest(model.backbone.model.config)
    examples = encode(bitext, tokenizer, Frames.of(tokenizer), longest, "skip")
    messages.say(examples.summary())
    derivations = collect_derivations(
        model,
        examples,
        batch_size=options.batch_size,
        segment_rate=options.segment_rate,
        seed=options.seed,
        track=tracker(options.quiet),
    )
    return derivations, examples, tokenizer, model.unit_table


def _lexical(options: Namespace, bitext: Bitext, messages: Messages) -> Derived:
    """The derivations of the lexical teacher, with a tokenizer trained on the bitext."""
    silence_libraries(options.quiet)
    from btg_seq2seq.recombination.lexical import encoded, lexical_derivations
    from btg_seq2seq.text.units import unit_table

    examples, tokenizer = encoded(bitext)
    messages.say(examples.summary())
    threads = options.threads or os.cpu_count() or 1
    track = tracker(options.quiet)
    derivations = lexical_derivations(examples, tokenizer, threads=threads, track=track)
    return derivations, examples, tokenizer, unit_table(tokenizer)


def _augment(
    options: Namespace,
    settings: RecombinationSettings,
    excluded: list[str],
    messages: Messages,
    derived: Derived,
) -> int:
    from btg_seq2seq.recombination.augment import augment
    from btg_seq2seq.recombination.recombine import Recombiner

    derivations, examples, tokenizer, table = derived
    wanted = examples.lines if options.count is None else options.count
    recombiner = Recombiner.of_text(derivations, examples, tokenizer, settings, excluded, table)
    new = augment(recombiner, tokenizer, wanted, options.seed)
    if not new.pairs and new.unknown:
        raise UserError(
            f"no new sentence pair can be made: all {new.unknown} that were have words that the "
            "tokenizer does not know"
        )
    if not new.pairs:
        raise UserError(
            "no new sentence pair can be made: no phrase of the bitext can be swapped for another "
            f"({len(derivations)} sentences, {derivations.without_tree} of them without a tree)"
        )
    sources, targets = zip(*new.pairs, strict=True)
    write_lines(options.output_source, sources)
    write_lines(options.output_target, targets)
    messages.say(
        f"{len(new.pairs)} new pairs in {options.output_source} and {options.output_target}"
    )
    if len(new.pairs) < wanted:
        messages.say(f"{wanted} were wanted, but no more than these were found")
    coincidences = recombiner.tries.coincidences
    messages.say(f"{coincidences} coincidences with excluded sources, none of them written")
    if without := derivations.without_tree:
        messages.say(f"{without} sentences are too long for trees and gave no phrases")
    if new.unknown:
        messages.say(
            f"{new.unknown} pairs left out because of words that the tokenizer does not know"
        )
    return 0


def _parser(is_lexical: bool) -> OptionParser:
    if is_lexical:
        parser = OptionParser("btg augment", description=DESCRIPTION)
        parser.add_argument(
            "--threads", type=int | None, help="number of threads; by default, one per processor"
        )
        add_quiet_option(parser)
    else:
        parser = command_parser("augment", DESCRIPTION, decoding=False)
    parser.add_argument(
        LEXICAL, action="store_true", help="find phrases with word translation tables, not a model"
    )
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("target", help="their translations")
    parser.add_argument(OUTPUTS[0], required=True, help="file for the new sources")
    parser.add_argument(OUTPUTS[1], required=True, help="file for their translations")
    parser.add_argument(
        "--count", type=int | None, help="number of new pairs; by default, as many as there are"
    )
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        help="files with sources that must not be made, such as those of test sets",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all random choices")
    if not is_lexical:
        parser.add_argument("--batch-size", type=int, default=64, help="sentences parsed at a time")
        parser.add_argument(
            "--segment-rate",
            type=float | None,
            help="draw the number of phrases of a sentence with this rate, rather than cut it into "
            "as many as possible",
        )
    parser.add_class_arguments(RecombinationSettings)
    return parser
