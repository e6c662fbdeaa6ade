"""``btg translate``: lines of text in, their translations out; rules are obeyed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import (
    MOVED,
    add_format_option,
    add_output_option,
    add_rule_options,
    check_length,
    check_options,
    command_parser,
    load_translator,
    read_rule_options,
    tell_unused,
)
from btg_seq2seq.console.documents import (
    add_document_options,
    are_documents,
    check_document_options,
    write_documents,
)
from btg_seq2seq.console.lines import (
    Line,
    check_readable,
    in_chunks,
    name_of,
    read_texts,
    refuse_clash,
)
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output, check_outputs
from btg_seq2seq.drawing.terminal import explained
from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.text import write_lines
from btg_seq2seq.translation.formats import OutputFormat, TranslatedLine, formats_for

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator

DESCRIPTION = """Translate sentences, one per line, as they arrive; a line comes out for every line
that goes in. Rules say how phrases must be translated: a file has the columns source, target, mode
(force, prefer or keep) and case (sensitive, insensitive or follow), the last two of which may be
missing, and several targets are separated by |||. A Moses phrase table is a file of preferred
rules, and glossaries in TBX and TMX are rules too. What rules could not do is reported on stderr.
Whole documents, and texts with markup or placeholders, are translated with --document and
--markup."""

PAPER = 100  # columns where there is no terminal
ADVICE = "; --unused FILE lists all of them"


def main(arguments: Sequence[str]) -> int:
    """Translate a file or the standard input."""
    options = _parser().parse_args(arguments)
    has_rules = options.rules or options.rule
    check_options(options, options.mode or ("cky" if options.explain or has_rules else "flat"))
    check_document_options(options)
    check_readable(options.file)
    outputs = {"--output-file": options.output_file, "--unused": options.unused}
    check_outputs(outputs, [options.file, *(options.rules or [])], options.model)
    rules = read_rule_options(options)
    if options.mode == "flat" and len(rules):
        raise UsageError("--mode flat cannot obey rules; use --mode cky, or no rules")
    mode: Literal["flat", "cky", "rescored"] = "cky" if options.explain or len(rules) else "flat"
    mode = options.mode or mode
    check_options(options, mode)
    if options.unused is not None:
        write_lines(options.unused, rules.problems)  # an error now, if it cannot be written
    messages = Messages("translate", options.quiet)
    output_format = _format(options)
    with Output(options.output_file) as output, output.progress(options.quiet) as bar:
        translator = load_translator(options, messages, uses_grammar=mode != "flat", mode=mode)
        messages.say_all(rules.problems, ADVICE)
        if are_documents(options):
            write_documents(options, translator, rules, output, messages, bar)
            tell_unused(messages, rules, options.unused, ADVICE)
            return 0
        notices = messages.kind("" if output_format.fields else "; --format jsonl has all")
        task = bar.add_task("translating", total=None)
        for chunk in in_chunks(_lines(options, translator, output_format), options.chunk):
            texts = [line.text for line in chunk]
            found = translator.translate(texts, mode, rules, options.nbest)
            for line, translation in zip(chunk, found, strict=True):
                for message in filter(None, [translation.fallback, *translation.notices]):
                    notices.say(f"line {line.number}: {message}")
                result = TranslatedLine(line.number, translation, options.nbest, line.fields)
                output.write(output_format.lines(result))
            bar.advance(task, len(chunk))
        notices.close()
        tell_unused(messages, rules, options.unused, ADVICE)
    return 0


def _format(options: Namespace) -> OutputFormat:
    """Return the format that was asked for; ``--explain`` is one for people."""
    if not options.explain:
        return formats_for(TranslatedLine)[options.format]
    if "format" in options.given:
        raise UsageError("--explain is for people, and --format for programs: use one of them")
    is_terminal = options.output_file in (None, "-") and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else PAPER
    colour = is_terminal and "NO_COLOR" not in os.environ

    def lines(line: TranslatedLine) -> list[str]:
        return explained(line.translation, width, colour=colour)

    return OutputFormat("explain", TranslatedLine, "derivations in boxes", lines)


def _lines(
    options: Namespace, translator: Translator, output_format: OutputFormat
) -> Iterator[Line | None]:
    """Read the input; a line that cannot be translated, or not be written, is an error."""
    is_named_json = options.file.endswith((".jsonl", ".jsonl.gz"))
    are_json = is_named_json if options.input is None else options.input == "jsonl"
    name = name_of(options.file)
    for line in read_texts(options.file, are_json=are_json):
        if line is not None:
            check_length(translator, line.text, f"{name}: line {line.number}")
            refuse_clash(line, output_format.fields, name)
        yield line


def _parser() -> OptionParser:
    moved = {"--output": MOVED.format("jsonl")}
    parser = command_parser("translate", DESCRIPTION, moved=moved)
    parser.add_argument("file", nargs="?", default="-", help="sentences; - for standard input")
    parser.add_argument(
        "--mode",
        type=Literal["flat", "cky", "rescored"] | None,
        help="flat: the seq2seq model alone; cky: the grammar combines phrases; rescored: "
        "candidates of both, ranked together by features of whole sentences. Unless given, cky "
        "where there are rules",
    )
    add_rule_options(parser)
    parser.add_argument(
        "--nbest",
        type=int,
        default=1,
        help="translations per sentence, at most --beam-size",
    )
    parser.add_argument(
        "--input",
        type=Literal["text", "jsonl"] | None,
        help="kind of input; unless given, by the file's name. A JSON line has a field source, "
        "and its other fields are kept in JSON output; one with the name of a field that the "
        "output has itself, such as text, is an error",
    )
    add_document_options(parser)
    add_format_option(parser, TranslatedLine)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="draw every translation in the terminal: its phrases in boxes, and the tree between "
        "them; with --mode cky unless given",
    )
    add_output_option(parser)
    parser.add_argument(
        "--unused",
        metavar="FILE",
        help="file for the list of rules that contradict another, or matched nothing",
    )
    parser.add_argument(
        "--chunk",
        type=int,
        default=256,
        help="lines translated at a time; of the standard input fewer, if no more have arrived",
    )
    return parser
