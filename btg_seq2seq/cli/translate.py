"""``btg translate``: lines of text in, their translations out; rules are obeyed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Literal

from jsonargparse import ArgumentParser, Namespace

from btg_seq2seq.cli.arguments import (
    Messages,
    add_rule_options,
    check_length,
    command_parser,
    load_translator,
    read_rule_options,
    tell_all,
    tell_unused,
)
from btg_seq2seq.cli.lines import (
    Line,
    in_chunks,
    name_of,
    progress,
    read_texts,
    refuse_clash,
    to_json_line,
    write,
)
from btg_seq2seq.decoding.translation import Translation
from btg_seq2seq.decoding.translator import Translator
from btg_seq2seq.text import write_lines

DESCRIPTION = """Translate sentences, one a line, as they arrive; a line comes out for every line
that goes in. Rules say how phrases must be translated: a file has the columns source, target, mode
(force, prefer or keep) and case (sensitive or insensitive), the last two of which may be missing,
and several targets are separated by |||. A Moses phrase table is a file of preferred rules. What
rules could not do is told on stderr."""

ADVICE = "; --unused FILE lists all of them"
WRITTEN = {field.name for field in fields(Translation)} - {"source"}  # in lines of JSON


def main(arguments: Sequence[str]) -> int:
    """Translate a file or the standard input."""
    options = _parser().parse_args(list(arguments))
    rules = read_rule_options(options)
    if options.unused is not None:
        write_lines(options.unused, rules.problems)  # a place that cannot be written is told now
    is_cky = options.mode == "cky" or (options.mode is None and len(rules) > 0)
    translator = load_translator(options, uses_grammar=is_cky)
    tell_all("translate", rules.problems, ADVICE)
    notices = Messages(
        "translate", "; --output jsonl has all of them" if options.output == "text" else ""
    )
    with progress() as bar:
        task = bar.add_task("translating", total=None)
        for chunk in in_chunks(_lines(options, translator), options.chunk):
            texts = [line.text for line in chunk]
            found = translator.translate(texts, options.mode, rules, options.nbest)
            for line, translation in zip(chunk, found, strict=True):
                for message in filter(None, [translation.fallback, *translation.notices]):
                    notices.say(f"line {line.number}: {message}")
                write(_format(line, translation, options.output, options.nbest))
            bar.advance(task, len(chunk))
    notices.close()
    tell_unused("translate", rules, options.unused, ADVICE)
    return 0


def _lines(options: Namespace, translator: Translator) -> Iterator[Line | None]:
    """The input; an error where a line cannot be translated, or not be written."""
    is_named_json = options.file.endswith((".jsonl", ".jsonl.gz"))
    are_json = is_named_json if options.input is None else options.input == "jsonl"
    name = name_of(options.file)
    for line in read_texts(options.file, are_json=are_json):
        if line is not None:
            check_length(translator, line.text, f"{name}: line {line.number}")
            if options.output == "jsonl":
                refuse_clash(line, WRITTEN, name)
        yield line


def _format(line: Line, translation: Translation, output: str, nbest: int) -> Iterator[str]:
    if output == "jsonl":
        yield to_json_line(line.fields | translation.to_json())
    elif nbest == 1:
        yield translation.text
    else:
        for one in (translation, *translation.alternatives):
            yield f"{line.number - 1} ||| {one.text} ||| {one.log_prob:.6f}"


def _parser() -> ArgumentParser:
    parser = command_parser("translate", DESCRIPTION)
    parser.add_argument("file", nargs="?", default="-", help="sentences; - for standard input")
    parser.add_argument(
        "--mode",
        type=Literal["flat", "cky"] | None,
        help="flat: the seq2seq model alone; cky: the grammar combines phrases. Unless given, cky "
        "where there are rules",
    )
    add_rule_options(parser)
    parser.add_argument(
        "--nbest",
        type=int,
        default=1,
        help="translations a sentence, at most beam_size; as text, with more than one: number of "
        "the line from 0 ||| translation ||| log-probability",
    )
    parser.add_argument(
        "--input",
        type=Literal["text", "jsonl"] | None,
        help="kind of input; unless given, by the file's name. A JSON line has a field source, "
        "and its other fields are kept in JSON output; one with the name of a field that the "
        "output has itself, such as text, is an error",
    )
    parser.add_argument(
        "--output",
        type=Literal["text", "jsonl"],
        default="text",
        help="text, or JSON lines that tell where every word came from",
    )
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
