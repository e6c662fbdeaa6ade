"""``btg phrase-table``: the phrase pairs that a model finds in text, for Moses or as rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import (
    add_format_option,
    add_output_option,
    check_length,
    check_options,
    checked_pairs,
    command_parser,
    load_translator,
)
from btg_seq2seq.console.lines import in_chunks
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output, check_outputs
from btg_seq2seq.text import Bitext, read_lines
from btg_seq2seq.translation.formats import PhraseTableEntry, formats_for

if TYPE_CHECKING:
    from btg_seq2seq.translation.phrase_table import PhraseTable

DESCRIPTION = """Print phrase pairs in the format of Moses: source ||| target ||| phi(source|target)
phi(target|source) p(target|source) ||| ||| counts of target, source, pair. With translations, the
pairs are those of the most probable derivations, and phi is relative frequency. Without, counts
are expected ones: how likely the source parser makes a phrase of a span, times the probability of
a translation under the seq2seq model, which is the third score. btg translate --rules reads the
lines as preferred rules: choose a high --min-probability for that."""


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = command_parser("phrase-table", DESCRIPTION)
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("target", nargs="?", help="their translations, if there are any")
    parser.add_argument(
        "--min-probability",
        type=float,
        default=0.001,
        help="leave out pairs with a smaller phi(target|source)",
    )
    parser.add_argument(
        "--segments",
        type=int | None,
        help="phrases per sentence, with translations; the most probable number from two on",
    )
    parser.add_argument("--chunk", type=int, default=256, help="lines read at a time")
    add_format_option(parser, PhraseTableEntry)
    add_output_option(parser)
    options = parser.parse_args(arguments)
    check_options(options)
    check_outputs(
        {"--output-file": options.output_file}, [options.source, options.target], options.model
    )
    if options.target is None:
        sources = read_lines(options.source)
        bitext = Bitext(sources, [""] * len(sources))
    else:
        bitext = Bitext.from_files(options.source, options.target)
    messages = Messages("phrase-table", options.quiet)
    with Output(options.output_file) as output:
        table = _extracted(options, bitext, messages, output)
        output_format = formats_for(PhraseTableEntry)[options.format]
        entries = table.entries(options.min_probability)
        output.write(line for entry in entries for line in output_format.lines(entry))
    if table.left_out:
        messages.say(f"{table.left_out} phrases that are not words were left out")
    return 0


def _extracted(
    options: Namespace, bitext: Bitext, messages: Messages, output: Output
) -> PhraseTable:
    """All phrase pairs of the text."""
    translator = load_translator(options, messages)
    from btg_seq2seq.translation.phrase_table import PhraseTable

    table, first, long_lines = PhraseTable(), 1, messages.kind()
    if options.target is None:
        for number, text in enumerate(bitext.source, 1):
            check_length(translator, text, f"{options.source}: line {number}")
    else:
        deque(checked_pairs(translator, bitext, options), maxlen=0)
    with output.progress(options.quiet) as bar:
        task = bar.add_task("extracting", total=len(bitext))
        for chunk in in_chunks(zip(bitext.source, bitext.target, strict=True), options.chunk):
            sources, targets = map(list, zip(*chunk, strict=True))
            if options.target is None:
                limit = f"max_cky_length = {translator.settings.max_cky_length}"
                too_long = table.add_sources(translator, sources)
            else:
                limit = "the grammar"
                too_long = table.add_bitext(translator, sources, targets, options.segments)
            for rank in too_long:
                long_lines.say(f"line {first + rank}: left out, because it is too long for {limit}")
            first += len(chunk)
            bar.advance(task, len(chunk))
    long_lines.close()
    return table
