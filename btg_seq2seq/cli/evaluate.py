"""``btg evaluate``: scores of a model's translations of a test set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from btg_seq2seq.console.arguments import (
    MOVED,
    add_output_option,
    check_length,
    check_options,
    command_parser,
    load_translator,
)
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.console.output import Output, check_outputs
from btg_seq2seq.evaluation.metrics import METRICS, TREE_METRICS, MetricOptions
from btg_seq2seq.text import Bitext, write_lines

if TYPE_CHECKING:
    from btg_seq2seq.evaluation.evaluate import Evaluation

DESCRIPTION = """Translate a test set and compare it with references: {metrics}. BLEU and chrF come
with sacreBLEU's signatures. With gold trees, the share of right trees is reported too."""


def main(arguments: Sequence[str]) -> int:
    """Print the scores."""
    moved = {"--json": "--json is now --format json", "--output": MOVED.format("json")}
    titles = ", ".join(metric.title for metric in METRICS.values())
    parser = command_parser("evaluate", DESCRIPTION.format(metrics=titles), moved=moved)
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("reference", help="reference translations, one per line")
    parser.add_argument(
        "--mode",
        type=Literal["flat", "cky", "rescored"],
        default="flat",
        help="how to translate",
    )
    parser.add_argument("--trees", help="gold trees over the words of the source, one per line")
    parser.add_argument(
        "--tokenize",
        type=str | None,
        help="sacreBLEU's tokenizer, for BLEU; chosen by the script of the references unless given",
    )
    parser.add_argument("--translations", help="file for the translations")
    parser.add_argument(
        "--format", type=Literal["text", "json"], default="text", help="a table for people, or JSON"
    )
    add_output_option(parser)
    options = parser.parse_args(arguments)
    check_options(options, options.mode)
    outputs = {"--output-file": options.output_file, "--translations": options.translations}
    inputs = [options.source, options.reference, options.trees]
    check_outputs(outputs, inputs, options.model)
    bitext = Bitext.from_files(options.source, options.reference, options.trees)
    uses_grammar = options.mode != "flat" or options.trees is not None
    messages = Messages("evaluate", options.quiet)
    with Output(options.output_file) as output:
        translator = load_translator(
            options, messages, uses_grammar=uses_grammar, mode=options.mode
        )
        from btg_seq2seq.evaluation.evaluate import evaluate

        for number, text in enumerate(bitext.source, 1):
            check_length(translator, text, f"{options.source}: line {number}")
        found = evaluate(translator, bitext, options.mode, MetricOptions(options.tokenize))
        if options.translations:
            texts = [one.text.replace("\n", " ").replace("\r", " ") for one in found.translations]
            write_lines(options.translations, texts)
        is_json = options.format == "json"
        shown = json.dumps(_values(found), indent=2) if is_json else _table(found)
        output.write(shown.split("\n"))
    return 0


def _values(found: Evaluation) -> dict[str, object]:
    """Everything except the translations, for JSON."""
    signed = {name: score for name, score in found.scores.items() if score.signature}
    return {
        "mode": found.mode,
        "sentences": len(found.translations),
        **{name: score.value for name, score in found.scores.items()},
        **{f"{name}_signature": score.signature for name, score in signed.items()},
        **{name: found.tree_scores.get(name, {}) for name in TREE_METRICS},
        "fallbacks": found.fallbacks,
        "fallback_reasons": found.fallback_reasons,
    }


def _table(found: Evaluation) -> str:
    rows = [(METRICS[name].title, one.value, one.signature) for name, one in found.scores.items()]
    for name, by_parser in found.tree_scores.items():
        title = TREE_METRICS[name].title
        rows += [(parser, value, title) for parser, value in by_parser.items()]
    width = max(12, *(len(title) for title, _, _ in rows))
    lines = [f"{len(found.translations)} sentences, {found.mode}"]
    lines += [f"{title:<{width}} {value:6.2f}  {remark}".rstrip() for title, value, remark in rows]
    for reason, count in found.fallback_reasons.items():
        lines.append(f"{count} not translated as asked: {reason}")
    return "\n".join(lines)
