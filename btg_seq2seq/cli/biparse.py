"""``btg biparse``: aligned phrases of any bitext, without a model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse import Namespace

from btg_seq2seq.checks import at_least
from btg_seq2seq.console.arguments import add_output_option, add_quiet_option, silence_warnings
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output, check_directory, check_outputs
from btg_seq2seq.console.progress import tracker
from btg_seq2seq.derivations.lexical.settings import LexicalSettings
from btg_seq2seq.errors import UserError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.formats import AlignedPair, PhraseTableEntry, formats_for

if TYPE_CHECKING:
    from btg_seq2seq.translation.biparse import ParsedBitext

TABLE = "table"
DESCRIPTION = """Find the aligned phrases of a bitext with word translation tables, estimated from
the bitext itself, and the exact bracketing grammar. No model is needed, and ten thousand short
sentence pairs take seconds. There is one line of output for each pair; it is empty for a pair that
has no derivation. The format table prints all phrase pairs of the bitext instead, with their
counts, as btg phrase-table does."""


def main(arguments: Sequence[str]) -> int:
    """Parse two files."""
    options = _parser().parse_args(arguments)
    for name in ("segments", "threads"):
        at_least(1, f"--{name}", options[name])
    check_outputs({"--output-file": options.output_file}, [options.source, options.target])
    if options.cache is not None:
        check_directory("--cache", options.cache)
    try:
        settings = _settings(options)
    except UserError as error:
        name, _, reason = str(error).partition(" ")
        raise UserError(f"--{name.replace('_', '-')} {reason}") from error
    bitext = Bitext.from_files(options.source, options.target)
    messages = Messages("biparse", options.quiet)
    silence_warnings(options.quiet)
    from btg_seq2seq.translation.biparse import biparse

    parsed = biparse(
        bitext.source,
        bitext.target,
        settings,
        segments=options.segments,
        threads=options.threads or os.cpu_count() or 1,
        cache=options.cache,
        track=tracker(options.quiet),
    )
    with Output(options.output_file) as output:
        if options.format == TABLE:
            _write_table(parsed, output, messages)
        else:
            _write_pairs(parsed, options, output, messages)
    return 0


def _settings(options: Namespace) -> LexicalSettings:
    return LexicalSettings(
        max_segments=options.max_segments,
        max_phrase_length=options.max_phrase_length,
        max_units=options.max_units,
        segment_rate=options.segment_rate,
        draws=0,
    )


def _write_pairs(
    parsed: ParsedBitext, options: Namespace, output: Output, messages: Messages
) -> None:
    output_format = formats_for(AlignedPair)[options.format]
    too_long = messages.kind()
    reason = f"a side has more than --max-units {parsed.teacher.settings.max_units} words"
    with output.progress(options.quiet) as bar:
        task = bar.add_task("writing", total=len(parsed))
        for position, pair in enumerate(parsed):
            if pair.derivation is None and pair.source.strip() and pair.text.strip():
                too_long.say(f"line {position + 1}: no derivation: {reason}")
            aligned = AlignedPair(position + 1, pair, partial(parsed.pharaoh, position))
            output.write(output_format.lines(aligned))
            bar.advance(task)
    too_long.close()


def _write_table(parsed: ParsedBitext, output: Output, messages: Messages) -> None:
    from btg_seq2seq.translation.phrase_table import PhraseTable

    table = PhraseTable()
    for pair in parsed:
        for phrase in () if pair.derivation is None else pair.derivation.phrases:
            table.add(phrase.source, phrase.target, 1.0, phrase.log_prob)
    output_format = formats_for(PhraseTableEntry)["moses"]
    output.write(line for entry in table.entries() for line in output_format.lines(entry))
    if table.left_out:
        messages.say(f"{table.left_out} phrases that the format cannot hold were left out")


def _parser() -> OptionParser:
    parser = OptionParser("btg biparse", description=DESCRIPTION)
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("target", help="their translations")
    formats = formats_for(AlignedPair)
    described = [f"{name}: {one.description}" for name, one in formats.items()]
    described.append(f"{TABLE}: all phrase pairs with counts, as a Moses phrase table")
    choices: Any = Literal[(*formats, TABLE)]
    parser.add_argument("--format", type=choices, default="phrases", help="; ".join(described))
    parser.add_argument(
        "--segments",
        type=int | None,
        help="number of phrases per sentence pair, or as many as it can be cut into. Defaults to "
        "the most probable number",
    )
    defaults = LexicalSettings()
    parser.add_argument(
        "--max-segments",
        type=int,
        default=defaults.max_segments,
        help="most phrases per sentence pair, if the number is not given; more take longer",
    )
    parser.add_argument(
        "--max-phrase-length",
        type=int | None,
        default=defaults.max_phrase_length,
        help="longest phrase in words",
    )
    parser.add_argument(
        "--max-units",
        type=int,
        default=defaults.max_units,
        help="most words of a side; a longer pair has no derivation. Time and memory grow with the "
        "square of the lengths of both sides",
    )
    parser.add_argument(
        "--segment-rate",
        type=float,
        default=defaults.segment_rate,
        help="rate of the geometric distribution over numbers of phrases: larger for fewer",
    )
    parser.add_argument(
        "--cache", metavar="DIRECTORY", help="keep results here, to resume an interrupted run"
    )
    parser.add_argument(
        "--threads", type=int | None, help="number of threads; by default, one per processor"
    )
    add_output_option(parser)
    add_quiet_option(parser)
    return parser
