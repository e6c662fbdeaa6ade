"""``btg score``: how probable given translations are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import (
    MOVED,
    add_format_option,
    add_output_option,
    add_rule_options,
    check_length,
    check_options,
    check_target,
    command_parser,
    load_translator,
    read_rule_options,
    tell_unused,
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
from btg_seq2seq.errors import SentenceError, UsageError, UserError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.formats import REPORTED, OutputFormat, ScoredLine, formats_for
from btg_seq2seq.translation.inputs import Target
from btg_seq2seq.translation.rules.rules import RuleSet
from btg_seq2seq.translation.translation import TextDerivation, Translation

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator

DESCRIPTION = """Print two log-probabilities of each given translation, separated by a tab: log
p(y|x) of the seq2seq model, which is what flat translation reports, and the sum over all
derivations of the grammar within the limits of decoding (--span-threshold 0 for all). Both are of
the tokens that the tokenizer makes of the text; to score just what btg translate --format jsonl
wrote, give that file alone. Cky translation reports the part of the sum that its beams have found:
with --reported that is a third number, under the same settings and rules."""

SENTENCES = "; give a second file to score plain translations"  # as the end of an error
GivenPair = tuple[Line, "Target"]  # a source and its translation


def main(arguments: Sequence[str]) -> int:
    """Score two files, or one of JSON lines."""
    options = _parser().parse_args(arguments)
    check_options(options, "cky")
    inputs = [options.source, options.target]
    check_readable(*inputs)
    outputs = {"--output-file": options.output_file}
    check_outputs(outputs, [*inputs, *(options.rules or [])], options.model)
    rules = read_rule_options(options)
    if rules.rules and not options.reported:
        raise UsageError("rules only matter for what translation reports: use --reported")
    messages = Messages("score", options.quiet)
    output_format = formats_for(ScoredLine)[options.format]
    with Output(options.output_file) as output, output.progress(options.quiet) as bar:
        translator = load_translator(options, messages, mode="cky")
        messages.say_all(rules.problems)
        task = bar.add_task("scoring", total=None)
        for chunk in in_chunks(_checked(options, translator, output_format), options.chunk):
            for result in _scored(chunk, translator, rules, options):
                output.write(output_format.lines(result))
            bar.advance(task, len(chunk))
        tell_unused(messages, rules)
    return 0


def _parser() -> OptionParser:
    moved = {"--output": MOVED.format("jsonl")}
    parser = command_parser("score", DESCRIPTION, moved=moved)
    parser.add_argument("source", help="source sentences, one per line, or JSON lines")
    parser.add_argument("target", nargs="?", help="their translations")
    add_format_option(
        parser,
        ScoredLine,
        ". In JSON, the derivation replaces the one that btg translate wrote; any other field with "
        "the name of one of the output is an error",
    )
    parser.add_argument(
        "--reported",
        action="store_true",
        help="also print what btg translate --mode cky reports; -inf for what it does not find",
    )
    add_rule_options(parser)
    add_output_option(parser)
    parser.add_argument("--chunk", type=int, default=64, help="pairs scored at a time")
    return parser


def _scored(
    chunk: Sequence[GivenPair], translator: Translator, rules: RuleSet, options: Namespace
) -> Iterator[ScoredLine]:
    """Score a chunk; a line that takes too much memory is an error after the lines before it."""
    if not chunk:
        return
    lines, targets = [line for line, _ in chunk], [target for _, target in chunk]
    texts = [line.text for line in lines]
    try:
        scores = translator.score(texts, targets)
    except SentenceError as error:
        yield from _scored(chunk[: error.sentence], translator, rules, options)
        place = f"{name_of(options.source)}: line {lines[error.sentence].number}"
        raise UserError(f"{place}: {error.reason}") from error
    reported: list[float | None] = [None] * len(chunk)
    if options.reported:
        reported = [*translator.prepare(texts).score(targets, rules)]
    for line, score, log_prob in zip(lines, scores, reported, strict=True):
        yield ScoredLine(line.number, score, log_prob, line.fields)


def _checked(
    options: Namespace, translator: Translator, output_format: OutputFormat
) -> Iterator[GivenPair | None]:
    """Read the input; a line that cannot be scored, or not be written, is an error."""
    name = name_of(options.source)
    size = translator.model.backbone.vocabulary_size
    for pair in _pairs(options.source, options.target, size):
        if pair is not None:
            line, target = pair
            place = f"{name}: line {line.number}"
            check_length(translator, line.text, place)
            check_target(translator, target, place)
            written = {*output_format.fields}
            if not options.reported:
                written.discard(REPORTED)
            if "variants" in line.fields:  # btg translate wrote this line
                written.discard("derivation")
            refuse_clash(line, written, name)
        yield pair


def _pairs(source: str, target: str | None, vocabulary_size: int) -> Iterator[GivenPair | None]:
    """Sources with their translations, and nothing where the next one is still to come."""
    if target is not None:
        bitext = Bitext.from_files(source, target)
        for number, pair in enumerate(zip(bitext.source, bitext.target, strict=True), 1):
            yield Line(number, pair[0], {"source": pair[0], "text": pair[1]}), pair[1]
        return
    for line in read_texts(source, are_json=True, hint=SENTENCES):
        if line is None:
            yield None
            continue
        place = f"{name_of(source)}: line {line.number}"
        yield line, _translation(line.fields, vocabulary_size, place) if line.fields else ""


def _translation(fields: dict[str, Any], vocabulary_size: int, place: str) -> Target:
    """The translation in a line of JSON: its ``variants``, or else its ``text``."""
    text, variants = fields.get("text"), fields.get("variants")
    if text is None and not variants:
        raise UserError(f"{place} has no translation: neither 'text' nor 'variants'")
    if text is not None and not isinstance(text, str):
        raise UserError(f"{place}: 'text' is no text")
    if not variants:
        return str(text)
    are_lists = isinstance(variants, list) and all(isinstance(one, list) for one in variants)
    if not are_lists or not all(
        type(token) is int and 0 <= token < vocabulary_size for one in variants for token in one
    ):
        raise UserError(
            f"{place}: 'variants' must be lists of numbers of tokens, below {vocabulary_size}, "
            "as btg translate writes them; to score 'text', leave it out"
        )
    strings = tuple(tuple(tokens) for tokens in variants)
    if text is None:
        return strings
    # Where the model does not know a word, other texts may have the same tokens.
    return Translation(text, 0.0, strings, _derivation(fields.get("derivation")))


def _derivation(value: Any) -> TextDerivation | None:
    """The derivation that btg translate wrote, which says where targets of rules stand."""
    try:
        return TextDerivation.from_json(value)
    except (LookupError, TypeError, ValueError):
        return None
