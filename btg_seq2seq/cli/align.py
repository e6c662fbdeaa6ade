"""``btg align``: word alignments and phrase pairs of a bitext."""

from __future__ import annotations

from collections.abc import Sequence

from btg_seq2seq.console.arguments import (
    add_format_option,
    add_output_option,
    check_options,
    checked_pairs,
    command_parser,
    load_translator,
)
from btg_seq2seq.console.lines import in_chunks
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output, check_outputs
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.formats import AlignedPair, formats_for

DESCRIPTION = """Print how the phrases of each sentence pair correspond, one pair per line: the most
probable tree and, along it, the most probable target phrases; as word alignments 0-0 1-2 (all words
of two phrases that translate each other), as phrases, or as JSON with tree and phrases. A pair with
an empty side, or too long for the grammar, has none."""


def main(arguments: Sequence[str]) -> int:
    """Align two files."""
    parser = command_parser("align", DESCRIPTION, decoding=False)
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("target", help="their translations")
    add_format_option(parser, AlignedPair)
    parser.add_argument(
        "--segments",
        type=int | None,
        help="phrases per sentence; the most probable number from two on",
    )
    parser.add_argument("--chunk", type=int, default=1024, help="pairs aligned at a time")
    add_output_option(parser)
    options = parser.parse_args(arguments)
    check_options(options)
    check_outputs(
        {"--output-file": options.output_file}, [options.source, options.target], options.model
    )
    bitext = Bitext.from_files(options.source, options.target)
    messages = Messages("align", options.quiet)
    output_format = formats_for(AlignedPair)[options.format]
    too_long, number = messages.kind(), 0
    with Output(options.output_file) as output, output.progress(options.quiet) as bar:
        translator = load_translator(options, messages)
        task = bar.add_task("aligning", total=len(bitext))
        for chunk in in_chunks(checked_pairs(translator, bitext, options), options.chunk):
            sources, targets = zip(*chunk, strict=True)
            for pair in translator.align(sources, targets, options.segments):
                number += 1
                if pair.derivation is None and pair.source.strip() and pair.text.strip():
                    too_long.say(f"line {number}: the pair is too long for the grammar")
                output.write(output_format.lines(AlignedPair(number, pair)))
            bar.advance(task, len(chunk))
    too_long.close()
    return 0
