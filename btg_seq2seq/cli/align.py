"""``btg align``: word alignments and phrase pairs of a bitext."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from btg_seq2seq.cli.arguments import Messages, checked_pairs, command_parser, load_translator
from btg_seq2seq.cli.lines import in_chunks, progress, to_json_line, write
from btg_seq2seq.text import Bitext

DESCRIPTION = """Print how the phrases of each sentence pair correspond, one pair a line: the most
probable tree with so many phrases and, along it, the most probable target phrases; as word
alignments 0-0 1-2 (all words of two phrases that translate each other), or as JSON with tree and
phrases. A pair with an empty side, or too long for the grammar, has none."""


def main(arguments: Sequence[str]) -> int:
    """Align two files."""
    parser = command_parser("align", DESCRIPTION, decoding=False)
    parser.add_argument("source", help="source sentences, one a line")
    parser.add_argument("target", help="their translations")
    parser.add_argument(
        "--format",
        type=Literal["pharaoh", "json"],
        default="pharaoh",
        help="pharaoh: word alignments; json: derivations",
    )
    parser.add_argument(
        "--segments", type=int | None, help="phrases a sentence; as many as the model allows"
    )
    parser.add_argument("--chunk", type=int, default=1024, help="pairs aligned at a time")
    options = parser.parse_args(list(arguments))
    bitext = Bitext.from_files(options.source, options.target)
    translator = load_translator(options)
    messages, number = Messages("align"), 0
    with progress() as bar:
        task = bar.add_task("aligning", total=len(bitext))
        for chunk in in_chunks(checked_pairs(translator, bitext, options), options.chunk):
            sources, targets = zip(*chunk, strict=True)
            for pair in translator.align(sources, targets, options.segments):
                number += 1
                if pair.derivation is None and pair.source.strip() and pair.text.strip():
                    messages.say(f"line {number}: the pair is too long for the grammar")
                is_json = options.format == "json"
                write([to_json_line(pair.to_json()) if is_json else pair.to_pharaoh()])
            bar.advance(task, len(chunk))
    messages.close()
    return 0
