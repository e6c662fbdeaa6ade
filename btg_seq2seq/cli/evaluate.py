"""``btg evaluate``: how good a model's translations of a test set are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
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
from btg_seq2seq.text import Bitext, write_lines

if TYPE_CHECKING:
    from btg_seq2seq.evaluation.evaluate import Evaluation

DESCRIPTION = """Translate a test set and compare it with references: exact match, BLEU and chrF,
with sacreBLEU's signatures. With gold trees, also how many trees are right."""


def main(arguments: Sequence[str]) -> int:
    """Print the metrics."""
    moved = {"--json": "--json is now --format json", "--output": MOVED.format("json")}
    parser = command_parser("evaluate", DESCRIPTION, moved=moved)
    parser.add_argument("source", help="source sentences, one per line")
    parser.add_argument("reference", help="their translations by people")
    parser.add_argument(
        "--mode", type=Literal["flat", "cky"], default="flat", help="how to translate"
    )
    parser.add_argument("--trees", help="gold trees over the words of the source, one per line")
    parser.add_argument("--tokenize", default="13a", help="sacreBLEU's tokenizer, for BLEU")
    parser.add_argument("--translations", help="file for the translations")
    parser.add_argument(
        "--format", type=Literal["text", "json"], default="text", help="a table for people, or JSON"
    )
    add_output_option(parser)
    options = parser.parse_args(arguments)
    check_options(options)
    outputs = {"--output-file": options.output_file, "--translations": options.translations}
    inputs = [options.source, options.reference, options.trees]
    check_outputs(outputs, inputs, options.model)
    bitext = Bitext.from_files(options.source, options.reference, options.trees)
    uses_grammar = options.mode == "cky" or options.trees is not None
    messages = Messages("evaluate", options.quiet)
    with Output(options.output_file) as output:
        translator = load_translator(options, messages, uses_grammar=uses_grammar)
        from btg_seq2seq.evaluation.evaluate import evaluate

        for number, text in enumerate(bitext.source, 1):
            check_length(translator, text, f"{options.source}: line {number}")
        found = evaluate(translator, bitext, options.mode, options.tokenize)
        if options.translations:
            texts = [one.text.replace("\n", " ").replace("\r", " ") for one in found.translations]
            write_lines(options.translations, texts)
        is_json = options.format == "json"
        shown = json.dumps(_values(found), indent=2) if is_json else _table(found)
        output.write(shown.split("\n"))
    return 0


def _values(found: Evaluation) -> dict[str, object]:
    """Everything but the translations."""
    return {
        "mode": found.mode,
        **asdict(found.metrics),
        "trees": found.trees,
        "fallbacks": found.fallbacks,
        "fallback_reasons": found.fallback_reasons,
    }


def _table(found: Evaluation) -> str:
    metrics = found.metrics
    rows = [
        (f"{metrics.sentences} sentences, {found.mode}", ""),
        (f"exact match  {metrics.exact_match:6.2f}", ""),
        (f"BLEU         {metrics.bleu:6.2f}", metrics.bleu_signature),
        (f"chrF         {metrics.chrf:6.2f}", metrics.chrf_signature),
        *((f"{name:<12} {value:6.2f}", "right trees") for name, value in found.trees.items()),
    ]
    for reason, count in found.fallback_reasons.items():
        rows.append((f"{count} not translated as asked: {reason}", ""))
    return "\n".join(f"{row}  {remark}".rstrip() for row, remark in rows)
