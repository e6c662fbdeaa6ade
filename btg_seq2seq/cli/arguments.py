"""What several commands share: the model, how it decodes, and messages for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import torch
from jsonargparse import ArgumentParser, Namespace, set_parsing_settings
from transformers.utils import logging

from btg_seq2seq.decoding.inputs import SentenceError, Target
from btg_seq2seq.decoding.rule_files import parse_rule, read_rules
from btg_seq2seq.decoding.rules import RuleSet
from btg_seq2seq.decoding.settings import DecodingSettings
from btg_seq2seq.decoding.translator import Translator
from btg_seq2seq.errors import UserError
from btg_seq2seq.text import Bitext, write_lines

MESSAGES = 20  # that are shown of each kind


def command_parser(name: str, description: str, *, decoding: bool = True) -> ArgumentParser:
    """A parser with the options of every command that uses a model."""
    set_parsing_settings(docstring_parse_attribute_docstrings=True)  # they are the help
    parser = ArgumentParser(prog=f"btg {name}", description=description)
    parser.add_argument("model", help="directory of a trained model")
    parser.add_argument("--device", default="cpu", help="where to compute, as torch names it")
    parser.add_argument("--threads", type=int | None, help="threads to compute with")
    if decoding:
        parser.add_class_arguments(DecodingSettings)
    else:
        parser.add_argument(
            "--max_length",
            type=int | None,
            default=DecodingSettings.max_length,
            help="most tokens of a line; a longer one is an error",
        )
    return parser


def add_rule_options(parser: ArgumentParser) -> None:
    """Options that say what must be obeyed."""
    parser.add_argument(
        "--rules",
        action="append",
        metavar="FILE",
        help="rules, one a line: source, target (or several, separated by |||), and if wanted mode "
        "(force, prefer, keep) and case (sensitive, insensitive), separated by tabs, in .csv files "
        "by commas; or a Moses phrase table; may be repeated",
    )
    parser.add_argument(
        "--rule",
        action="append",
        metavar="SOURCE=TARGET",
        help="a rule that is forced (several targets are separated by |||), or SOURCE alone for "
        "one that is kept; or, with tabs, a line as in a file; may be repeated",
    )


def read_rule_options(options: Namespace) -> RuleSet:
    """All rules that were given."""
    return RuleSet(
        [rule for path in options.rules or [] for rule in read_rules(path)]
        + [parse_rule(text, f"--rule {text}") for text in options.rule or []]
    )


def load_translator(options: Namespace, *, uses_grammar: bool = True) -> Translator:
    """The model with the settings that were given on the command line."""
    library: Any = logging  # its functions carry no types
    library.set_verbosity_error()  # stderr is for what we have to say
    library.disable_progress_bar()
    if options.threads is not None:
        if options.threads < 1:
            raise UserError(f"--threads must be 1 or more, not {options.threads}")
        torch.set_num_threads(options.threads)
    _check_device(options.device)
    given = {
        field.name: options.get(field.name, field.default) for field in fields(DecodingSettings)
    }
    settings = DecodingSettings(**given)
    translator = Translator.from_pretrained(options.model, settings, options.device)
    if not translator.model.config.parsers_learned and uses_grammar:
        print(
            f"btg: the parsers of {options.model} have learned nothing, since it was "
            "trained on whole sentences only: trees are random",
            file=sys.stderr,
        )
    return translator


def _check_device(name: str) -> None:
    try:
        torch.zeros(1, device=name).item()
    except (RuntimeError, AssertionError) as error:  # torch has no error of its own for this
        reason = str(error).partition("\n")[0]
        raise UserError(f"--device {name}: torch cannot compute there: {reason}") from error


def check_target(translator: Translator, target: Target, place: str) -> None:
    """An error that names the place of a translation that cannot be scored."""
    try:
        translator.check_target(target)
    except SentenceError as error:
        raise UserError(f"{place}: {error.reason}") from error


def tell_unused(command: str, rules: RuleSet, path: str | None = None, advice: str = "") -> None:
    """Tell which rules matched nothing; those and contradictions in a file, if wanted."""
    unmatched = [f"rule {rule} matched nothing" for rule in rules.unmatched]
    if path is not None:
        write_lines(path, [*rules.problems, *unmatched])
    tell_all(command, unmatched, advice)


def check_length(translator: Translator, text: str, place: str) -> None:
    """An error that names the place of a sentence that is too long."""
    try:
        translator.read([text])
    except SentenceError as error:
        raise UserError(f"{place}: {error.reason}") from error


def checked_pairs(
    translator: Translator, bitext: Bitext, options: Namespace
) -> Iterator[tuple[str, str]]:
    """Sentence pairs of the options source and target; an error where a line is too long."""
    for number, pair in enumerate(zip(bitext.source, bitext.target, strict=True), 1):
        try:
            translator.tokenize([pair[0]])
            translator.tokenize([pair[1]], side="target")
        except SentenceError as error:
            files = f"{options.source} and {options.target}"
            raise UserError(f"{files}: line {number}: {error.reason}") from error
        yield pair


def tell_all(command: str, lines: Iterable[str], advice: str = "") -> None:
    """Messages of a kind, all of which are known."""
    messages = Messages(command, advice)
    for line in lines:
        messages.say(line)
    messages.close()


class Messages:
    """Messages on stderr; of many of a kind the first ones are shown, and the others counted."""

    def __init__(self, command: str, advice: str = "") -> None:
        self.command, self.advice, self.count = command, advice, 0

    def say(self, message: str) -> None:
        """Tell people something that is no result."""
        self.count += 1
        if self.count <= MESSAGES:
            print(f"btg {self.command}: {message}", file=sys.stderr)

    def close(self) -> None:
        """Say how many messages there were beyond those that were shown."""
        if self.count > MESSAGES:
            more = self.count - MESSAGES
            print(f"btg {self.command}: and {more} more{self.advice}", file=sys.stderr)
