"""Options that several commands share, and the model that they name.

Nothing heavy is imported before a command line has been checked.
"""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse import Namespace

from btg_seq2seq.checks import at_least
from btg_seq2seq.console.lines import is_utf8
from btg_seq2seq.console.messages import Messages, with_options
from btg_seq2seq.errors import SentenceError, UsageError, UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.text.bitext import Bitext, write_lines
from btg_seq2seq.translation.formats import formats_for
from btg_seq2seq.translation.inputs import Target
from btg_seq2seq.translation.rules.files import parse_rule
from btg_seq2seq.translation.rules.rules import Rule, RuleSet

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator

# For those who look for it: the name was used for the kind of output once.
MOVED = (
    "--output is for the directories of btg train and btg demo: use --format {} for the kind of "
    "output, and --output-file FILE for its file"
)


class CommandParser(OptionParser):
    """A parser whose result lists, as ``given``, the options of the command line.

    Only these replace the defaults saved beside the model.
    """

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str], namespace: Namespace | None = None, **options: Any
    ) -> Namespace:
        parsed = super().parse_args(args, namespace, **options)
        parsed["given"] = sorted(self.given_fields)
        return parsed


def command_parser(
    name: str,
    description: str,
    *,
    decoding: bool = True,
    model_option: bool = False,
    moved: Mapping[str, str] | None = None,
) -> OptionParser:
    """A parser with the options of every command that uses a model.

    With ``model_option``, the command also works without one, and ``--model`` names it.
    """
    parser = CommandParser(f"btg {name}", description=description, moved=moved)
    if model_option:
        parser.add_argument("--model", metavar="DIRECTORY", help="directory of a trained model")
    else:
        parser.add_argument("model", help="directory of a trained model")
    add_model_options(parser, decoding=decoding)
    return parser


def many_models_parser(name: str, description: str) -> OptionParser:
    """A parser for a command that uses any number of models."""
    parser = CommandParser(f"btg {name}", description=description)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="directory of a trained model")
    return parser


def add_model_options(parser: OptionParser, *, decoding: bool = True) -> None:
    """Options of every command that uses a model."""
    parser.add_argument("--device", default="cpu", help="where to compute, as torch names it")
    parser.add_argument("--threads", type=int | None, help="threads to compute with")
    parser.add_argument(
        "--verify",
        type=bool,
        default=True,
        help="compare the files of the model with their checksums; false saves that time",
    )
    add_quiet_option(parser)
    if decoding:
        parser.add_class_arguments(DecodingSettings)
    else:
        parser.add_argument(
            "--max_length",
            type=int | None,
            default=DecodingSettings.max_length,
            help="most tokens of a line; a longer one is an error",
        )


def add_quiet_option(parser: OptionParser) -> None:
    """``--quiet``, which every command has."""
    parser.add_argument(
        "--quiet", action="store_true", help="no progress and no notices; errors are still shown"
    )


def add_output_option(parser: OptionParser) -> None:
    """``--output-file``, for commands that print results."""
    parser.add_argument(
        "--output-file",
        metavar="FILE",
        help="file for the results, gzipped if its name ends in .gz; it appears once it is "
        "complete. Standard output unless given",
    )


def add_format_option(parser: OptionParser, result: type, note: str = "") -> None:
    """``--format``: the registered formats for a kind of result."""
    formats = formats_for(result)
    described = [f"{name}: {one.description}" for name, one in formats.items()]
    choices: Any = Literal[tuple(formats)]
    parser.add_argument(
        "--format",
        type=choices,
        default=next(iter(formats)),
        help="; ".join(described) + note,
    )


def add_rule_options(parser: OptionParser) -> None:
    """Options that say what must be obeyed."""
    parser.add_argument(
        "--rules",
        action="append",
        metavar="FILE",
        help="rules, one per line: source, target (or several, separated by |||), and if wanted "
        "mode (force, prefer, keep) and case (sensitive, insensitive, follow), separated by tabs, "
        "in .csv files by commas; or a Moses phrase table; or a glossary, whose name ends in .tbx "
        "or .tmx; may be repeated",
    )
    parser.add_argument(
        "--case",
        type=Literal["sensitive", "insensitive", "follow"] | None,
        help="of rules in files that do not say so themselves. insensitive: upper and lower case "
        "match alike, as terms of .tbx and .tmx files do unless given; follow: they do, and the "
        "target is written in the case of the match",
    )
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-language",
            default="",
            metavar="CODE",
            help=f"language of the {side}, such as de, for .tbx and .tmx files with several"
            + (", and to find sentences in documents" if side == "source" else ""),
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
    for text in options.rule or []:
        if not is_utf8(text):
            raise UsageError(f"--rule {text!r} is not UTF-8; convert it, or use --rules FILE")
    rules: list[Rule] = []
    if options.rules:
        from btg_seq2seq.translation.glossaries.glossary import read_glossary

        languages = options.source_language, options.target_language
        for path in options.rules:
            rules += read_glossary(path, *languages, options.case)
    return RuleSet(rules + [parse_rule(text, f"--rule {text}") for text in options.rule or []])


def check_options(options: Namespace, mode: str | None = None) -> DecodingSettings:
    """Check options, and return the settings: the model's defaults with the given options.

    With a ``mode``, what was tuned for it takes the place of defaults.
    """
    for name in ("threads", "chunk", "segments", "nbest", "batch_size", "count"):
        at_least(1, "--" + name.replace("_", "-"), options.get(name))
    try:
        settings = DecodingSettings.load(options.model)
        if mode is not None:
            settings = TunedSettings.load(options.model).apply(settings, mode)
        settings = replace(settings, **given_settings(options, settings))
    except UserError as error:
        raise UserError(with_options(str(error))) from error
    if options.get("nbest", 1) > settings.beam_size:
        raise UserError(
            f"--nbest must not be more than --beam-size, {settings.beam_size}, but is "
            f"{options.nbest}; widen the beam for more translations"
        )
    return settings


def given_settings(options: Namespace, settings: DecodingSettings) -> dict[str, Any]:
    """Decoding settings that were given; weights that were not are those of ``settings``."""
    names = {field.name for field in fields(DecodingSettings)}
    given: dict[str, Any] = {}
    for name in options.given:
        field, _, weight = name.partition(".")
        if field not in names:
            continue
        if weight:
            weights = given.get(field, getattr(settings, field))
            given[field] = replace(weights, **{weight: options[name]})
        else:
            given[field] = options[name]
    return given


def load_translator(
    options: Namespace,
    messages: Messages,
    *,
    uses_grammar: bool = True,
    mode: str | None = None,
) -> Translator:
    """The model with the settings that were given on the command line."""
    settings = check_options(options, mode)
    with without_collecting():
        silence_libraries(options.quiet)
        import torch

        from btg_seq2seq.translation.translator import Translator

        if options.threads is not None:
            torch.set_num_threads(options.threads)
        _check_device(options.device)
        translator = Translator.from_pretrained(
            options.model, settings, options.device, verify=options.verify
        )
    if not translator.model.config.parsers_learned and uses_grammar:
        messages.say(
            f"the parsers of {options.model} have learned nothing, since it was trained on whole "
            "sentences only: trees are random"
        )
    return translator


@contextmanager
def without_collecting() -> Iterator[None]:
    """Import without the garbage collector, which would look at all modules again and again.

    That takes a sixth of the time to start. What is imported stays out of its sight; ``main``
    gives it back in the end.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


def silence_warnings(quiet: bool) -> None:
    """Show no warnings of ours or of others, if a command is to be quiet."""
    logging.getLogger("btg_seq2seq").setLevel(logging.ERROR if quiet else logging.NOTSET)
    if quiet:
        warnings.simplefilter("ignore")


def silence_libraries(quiet: bool) -> None:
    """Keep transformers from writing to stderr, which is for what we have to say."""
    silence_warnings(quiet)
    from transformers.utils import logging as library_logging

    library: Any = library_logging  # its functions carry no types
    library.set_verbosity_error()
    library.disable_progress_bar()


def _check_device(name: str) -> None:
    import torch

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


def tell_unused(
    messages: Messages, rules: RuleSet, path: str | None = None, advice: str = ""
) -> None:
    """Say which rules matched nothing; those and contradictions in a file, if wanted."""
    unmatched = [f"rule {rule} matched nothing" for rule in rules.unmatched]
    if path is not None:
        write_lines(path, [*rules.problems, *unmatched])
    messages.say_all(unmatched, advice)
