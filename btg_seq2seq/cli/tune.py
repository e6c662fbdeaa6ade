"""``btg tune``: decoding settings chosen on a dev set, and saved with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from btg_seq2seq.checks import at_least, whole
from btg_seq2seq.console.arguments import (
    check_length,
    check_options,
    command_parser,
    given_settings,
    load_translator,
)
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output
from btg_seq2seq.console.progress import tracker
from btg_seq2seq.errors import UsageError
from btg_seq2seq.evaluation.metrics import METRICS, MetricOptions
from btg_seq2seq.evaluation.metrics import check_options as check_metrics
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.tuned_settings import TUNED_MODES, TunedSettings
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.text import Bitext

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator
    from btg_seq2seq.tuning.tune import TunedMode, TuneResult

DESCRIPTION = """Choose decoding settings on a dev set and save them with the model, for each mode:
weights of the features by which translations are ranked, length normalisation and, for cky, the
weight of whole sentences, the segment rate and the number of phrases. btg translate and btg
evaluate use them from then on. Settings that are given here, such as --beam-size, are kept as given
and saved too. Never tune on a test set.

The lexical features need word-translation tables. A model that was trained with the lexical teacher
has them; for any other, give its training text with --train-source and --train-target."""


def main(arguments: Sequence[str]) -> int:
    """Tune a model."""
    options = _parser().parse_args(arguments)
    settings = check_options(options)
    at_least(1, "--sentences", options.sentences)
    whole("--seed", options.seed)
    if (options.train_source is None) != (options.train_target is None):
        raise UsageError("give both --train-source and --train-target, or neither")
    metric_options = MetricOptions(options.tokenize)
    check_metrics(metric_options)
    dev = Bitext.from_files(options.source, options.reference)
    training = None
    if options.train_source is not None:
        training = Bitext.from_files(options.train_source, options.train_target)
    messages = Messages("tune", options.quiet)
    track = tracker(options.quiet)
    modes = [mode for mode in TUNED_MODES if mode in (options.modes or TUNED_MODES)]
    with Output() as output:
        translator = load_translator(options, messages, uses_grammar=options.modes is not None)
        for number, text in enumerate(dev.source[: options.sentences], 1):
            check_length(translator, text, f"{options.source}: line {number}")
        # The settings of the model itself: those that are given follow, for every mode.
        translator.settings = DecodingSettings.load(options.model)
        translator.tuned = TunedSettings.load(options.model)
        from btg_seq2seq.tuning.model_files import attach_tables, estimate_tables, save_tuned
        from btg_seq2seq.tuning.tune import tune

        if training is not None:
            texts = training.source, training.target
            translator.tables = estimate_tables(translator, *texts, track)
            attach_tables(options.model, translator.tables)
        _tell_features(translator, messages)

        def keep(result: TuneResult) -> None:
            save_tuned(options.model, result.tuned)
            output.write(_lines(result.modes[-1]))

        tune(
            translator,
            dev.source[: options.sentences],
            dev.target[: options.sentences],
            modes=modes if options.modes else None,
            metric=options.metric,
            options=metric_options,
            seed=options.seed,
            track=track,
            keep=keep,
            **given_settings(options, settings),
        )
    return 0


def _tell_features(translator: Translator, messages: Messages) -> None:
    if translator.tables is None:
        messages.say(
            "the model has no word-translation tables, so there are no lexical features: give its "
            "training text with --train-source and --train-target"
        )
    if not translator.model.config.parsers_learned:
        messages.say("the model was trained on whole sentences only: the mode flat is tuned")


def _lines(found: TunedMode) -> list[str]:
    """One line for the scores, and one for each setting."""
    title = METRICS[found.metric].title
    lines = [
        f"{found.mode}: {title} {found.before:.2f} -> {found.after:.2f} on {found.sentences} "
        "sentences"
    ]
    for name, value in found.settings.items():
        shown = value
        if hasattr(value, "to_json"):
            shown = " ".join(f"{key}={own:g}" for key, own in value.to_json().items() if own)
        lines.append(f"  {name}: {shown}")
    return lines


def _parser() -> OptionParser:
    parser = command_parser("tune", DESCRIPTION)
    parser.add_argument("source", help="source sentences of the dev set, one per line")
    parser.add_argument("reference", help="their reference translations")
    metrics: Any = Literal["bleu", "chrf", "exact_match"]
    parser.add_argument("--metric", type=metrics, default="bleu", help="metric to be raised")
    parser.add_argument(
        "--tokenize",
        type=str | None,
        help="sacreBLEU's tokenizer, for BLEU; chosen by the script of the references unless given",
    )
    parser.add_argument(
        "--modes",
        type=list[Literal["flat", "cky", "rescored"]] | None,
        help="modes to be tuned, such as [flat,cky]; all that the model has learned unless given",
    )
    parser.add_argument(
        "--sentences", type=int, default=1000, help="sentences of the dev set that are used"
    )
    parser.add_argument("--train-source", metavar="FILE", help="source side of the training text")
    parser.add_argument("--train-target", metavar="FILE", help="target side of the training text")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search")
    return parser
