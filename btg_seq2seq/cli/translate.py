"""``btg translate``: lines of text in, their translations out; rules are obeyed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Literal

from jsonargparse import ArgumentParser

from btg_seq2seq.cli.arguments import (
    Messages,
    add_rule_options,
    command_parser,
    load_translator,
    read_rule_options,
)
from btg_seq2seq.cli.lines import Line, in_chunks, progress, read_texts, to_json_line, write
from btg_seq2seq.decoding.rules import RuleSet
from btg_seq2seq.decoding.translation import Translation

DESCRIPTION = """Translate sentences, one a line, as they arrive; a line comes out for every line
that goes in. Rules say how phrases must be translated: a file has the columns source, target, mode
(force, prefer or keep) and case (sensitive or insensitive), the last two of which may be missing,
and several targets are separated by |||. A Moses phrase table is a file of preferred rules. What
rules could not do is told on stderr."""


def main(arguments: Sequence[str]) -> int:
    """Translate a file or the standard input."""
    options = _parser().parse_args(list(arguments))
    rules = read_rule_options(options)
    translator = load_translator(options)
    advice = "; --output jsonl has all of them" if options.output == "text" else ""
    notices = Messages("translate", advice)
    for problem in rules.problems:
        notices.say(problem)
    are_json = (
        options.file.endswith((".jsonl", ".jsonl.gz"))
        if options.input is None
        else (options.input == "jsonl")
    )
    # A person who types waits for every line.
    size = 1 if options.file == "-" and sys.stdin.isatty() else options.chunk
    with progress() as bar:
        task = bar.add_task("translating", total=None)
        for chunk in in_chunks(read_texts(options.file, are_json=are_json), size):
            texts = [line.text for line in chunk]
            found = translator.translate(texts, options.mode, rules, options.nbest)
            for line, translation in zip(chunk, found, strict=True):
                for message in filter(None, [translation.fallback, *translation.notices]):
                    notices.say(f"line {line.number}: {message}")
                write(_format(line, translation, options.output, options.nbest))
            bar.advance(task, len(chunk))
    notices.close()
    _report_unmatched(rules, options.unmatched)
    return 0


def _format(line: Line, translation: Translation, output: str, nbest: int) -> Iterator[str]:
    if output == "jsonl":
        yield to_json_line(line.fields | translation.to_json())
    elif nbest == 1:
        yield translation.text
    else:
        for one in (translation, *translation.alternatives):
            yield f"{line.number - 1} ||| {one.text} ||| {one.log_prob:.6f}"


def _report_unmatched(rules: RuleSet, path: str | None) -> None:
    """Tell which rules were never used; all of them in a file, if wanted."""
    unmatched = [f"rule {rule} matched nothing" for rule in rules.unmatched]
    messages = Messages("translate", "; --unmatched FILE lists all of them")
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in unmatched)
    for line in unmatched:
        messages.say(line)
    messages.close()


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
        "and its other fields are kept in the output",
    )
    parser.add_argument(
        "--output",
        type=Literal["text", "jsonl"],
        default="text",
        help="text, or JSON lines that tell where every word came from",
    )
    parser.add_argument(
        "--unmatched", metavar="FILE", help="file for the list of rules that matched nothing"
    )
    parser.add_argument("--chunk", type=int, default=256, help="lines translated at a time")
    return parser
