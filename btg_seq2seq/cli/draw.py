"""``btg draw``: derivations as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import (
    add_rule_options,
    check_length,
    check_options,
    command_parser,
    load_translator,
    read_rule_options,
    tell_unused,
)
from btg_seq2seq.console.lines import Line, check_readable, in_chunks, name_of, read_texts
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import check_outputs
from btg_seq2seq.drawing.colours import ThemeName
from btg_seq2seq.drawing.drawing import SUFFIXES, Drawing, View, draw, write_file
from btg_seq2seq.drawing.page import MOST_DRAWINGS, page
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.translation.translation import Translation

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator

DESCRIPTION = """Draw derivations: source phrases above, their translations below, and the tree
between them. The input is JSON lines of btg translate --format jsonl or btg align --format json;
with --model it is sentences, one per line, which are translated with --mode cky. The name of the
output says what is written: one page with all pictures (all.html), one picture (one.svg, one.png),
or a file for every line, with its number in place of {} (pictures/{}.svg)."""

SENTENCES = "; give --model to draw sentences"  # as the end of an error
NUMBER = "{}"  # in the name of the output
Numbered = tuple[int, Translation]  # a translation with the number of its line


def main(arguments: Sequence[str]) -> int:
    """Draw a file of translations."""
    options = _parser().parse_args(arguments)
    _check(options)
    rules = read_rule_options(options)
    messages = Messages("draw", options.quiet)
    if options.model is None:
        translations = _read(options.file)
    else:
        check_options(options)
        translator = load_translator(options, messages, mode="cky")
        messages.say_all(rules.problems)
        translations = _translated(options, translator, rules)
    skipped = messages.kind()
    drawings = _drawn(translations, options, skipped)
    if NUMBER in options.output:
        count = 0
        for number, drawing in drawings:
            drawing.save(options.output.replace(NUMBER, str(number)), options.scale)
            count += 1
        if not count:
            raise UserError(f"{name_of(options.file)} has nothing to draw")
    else:
        _write_one(options, drawings)
    skipped.close()
    tell_unused(messages, rules)
    return 0


def _check(options: Namespace) -> None:
    """Refuse options that contradict each other, and files that cannot be read or written."""
    if Path(options.output).suffix.lower() not in SUFFIXES:
        raise UsageError(f"{options.output}: the output must end in {', '.join(SUFFIXES)}")
    if not 0 < options.scale <= 10:
        raise UsageError(f"--scale must be above 0 and at most 10, not {options.scale}")
    if options.model is None:
        if options.rule or options.rules:
            raise UsageError("rules need a model that translates: use --model")
        for field in fields(DecodingSettings):
            if field.name in options.given:
                option = "--" + field.name.replace("_", "-")
                raise UsageError(f"{option} needs a model that translates: use --model")
    check_readable(options.file)
    check_outputs({"OUTPUT": options.output}, [options.file, *(options.rules or [])], options.model)


def _read(path: str) -> Iterator[Numbered]:
    """Read the translations in a file of JSON lines."""
    for line in read_texts(path, are_json=True, hint=SENTENCES):
        if line is None or not line.fields:  # a line that is still to come, or an empty one
            continue
        yield line.number, _translation(line, f"{name_of(path)}: line {line.number}")


def _translation(line: Line, place: str) -> Translation:
    try:
        return Translation.from_json(line.fields)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        missing = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise UserError(
            f"{place} is no translation or alignment: {missing}; draw what btg translate --format "
            "jsonl or btg align --format json wrote, or use --model to draw text"
        ) from error


def _translated(options: Namespace, translator: Translator, rules: Any) -> Iterator[Numbered]:
    """Translate the sentences in a file."""
    name = name_of(options.file)

    def checked() -> Iterator[Line | None]:
        for line in read_texts(options.file):
            if line is not None:
                check_length(translator, line.text, f"{name}: line {line.number}")
            yield line

    for chunk in in_chunks(checked(), options.chunk):
        found = translator.translate([line.text for line in chunk], "cky", rules)
        for line, translation in zip(chunk, found, strict=True):
            yield line.number, translation


def _drawn(
    translations: Iterator[Numbered], options: Namespace, skipped: Any
) -> Iterator[tuple[int, Drawing]]:
    """Draw translations; those without a derivation are skipped."""
    for number, translation in translations:
        if translation.derivation is None:
            skipped.say(f"line {number} has no derivation")
            continue
        try:
            yield number, draw(translation, options.view, options.theme)
        except UserError as error:
            raise UserError(f"{name_of(options.file)}: line {number}: {error}") from error


def _write_one(options: Namespace, drawings: Iterator[tuple[int, Drawing]]) -> None:
    """Write a page with all pictures, or the only picture."""
    is_page = Path(options.output).suffix.lower() == ".html"
    found: list[Drawing] = []
    for number, drawing in drawings:
        found.append(drawing)
        if len(found) > (MOST_DRAWINGS if is_page else 1):
            stem = Path(options.output)
            most = f"more than {MOST_DRAWINGS} pictures" if is_page else "more than one picture"
            raise UserError(
                f"{name_of(options.file)}: line {number}: {most} for {options.output}; write a "
                f"file for each, such as {stem.with_name(f'{stem.stem}-{NUMBER}{stem.suffix}')}"
                + ("" if is_page else f", or a page, {stem.with_suffix('.html')}")
            )
    if not found:
        raise UserError(f"{name_of(options.file)} has nothing to draw")
    if is_page:
        write_file(options.output, page(found).encode())
    else:
        found[0].save(options.output, options.scale)


def _parser() -> OptionParser:
    parser = command_parser("draw", DESCRIPTION, model_option=True)
    parser.add_argument("file", help="JSON lines, or with --model sentences; - for standard input")
    parser.add_argument(
        "output", help="file that ends in .html, .svg or .png, or a pattern with {}"
    )
    parser.add_argument(
        "--view",
        type=View,
        default="tree",
        help="tree, or matrix for the alignment of words; a page has both",
    )
    parser.add_argument(
        "--theme",
        type=ThemeName,
        default="auto",
        help="colours; auto follows the settings of the reader, and is light in PNG",
    )
    parser.add_argument(
        "--scale", type=float, default=2.0, help="pixels of a PNG per point of the picture"
    )
    add_rule_options(parser)
    parser.add_argument("--chunk", type=int, default=64, help="sentences translated at a time")
    return parser
