"""What cky decoding costs, in flat decodings of the same sentences with the same beam.

    python -m benchmarks.decoding [--model DIR --source FILE --reference FILE] [--output FILE.json]

One run, interleaved repetitions, minima. With a trained model, the curve over the span threshold
has BLEU beside the time. Without one, weights are random, outputs are as long as their sources, and
the source parser is sharpened until its trees differ. Exit code 1 if a bar is missed.
"""

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from benchmarks import harness
from btg_seq2seq.decoding.beam_search import length_batches
from btg_seq2seq.decoding.cky import prepare
from btg_seq2seq.decoding.constraints import ForcedSpan
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.settings import DecodingSettings
from btg_seq2seq.decoding.translator import Translator
from btg_seq2seq.evaluation.metrics import text_metrics
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import read_lines

HEADER = ["decoding", "seconds", "x flat", "phrases a sentence", "BLEU"]
VOCABULARY = 8000
SHARPNESS = 30.0  # of the random parser, whose trees are nearly uniform otherwise


@dataclass(frozen=True)
class Case:
    """A model with sentences for it."""

    model: BTGSeq2Seq
    sources: list[list[int]]
    settings: DecodingSettings
    references: list[str] | None
    to_text: Callable[[Sequence[int]], str] | None

    def bleu(self, strings: Sequence[Sequence[int]]) -> str:
        """BLEU of token strings, if it can be had."""
        if self.references is None or self.to_text is None:
            return ""
        return f"{text_metrics([*map(self.to_text, strings)], self.references).bleu:.2f}"


def random_case(options: argparse.Namespace, length: int | None = None) -> Case:
    random.seed(0)
    torch.manual_seed(0)
    config = default_config(
        VOCABULARY, hidden_size=options.hidden, layers=options.layers, heads=8, dropout=0.0
    )
    model = BTGSeq2Seq.from_backbone(config, max_segments=options.segments)
    model.backbone.add_segment_ids(3, 4)
    with torch.no_grad():
        model.prior.output.mul_(SHARPNESS)
    lengths = [length or random.randint(28, 48) for _ in range(options.batch)]
    sources = [[*torch.randint(5, VOCABULARY, (n,)).tolist(), 1] for n in lengths]
    settings = DecodingSettings(
        options.beam, max_segments=options.segments, max_output_ratio=1.0, max_output_extra=1
    )
    return Case(model.train(False), sources, settings, None, None)


def trained_case(options: argparse.Namespace) -> Case:
    translator = Translator.from_pretrained(options.model)
    texts = list(read_lines(options.source))
    references = list(read_lines(options.reference)) if options.reference else None
    sources = [translator.framed(source.tokens) for source in translator.read(texts)]
    kept = [row for row, source in enumerate(sources) if len(source) > 1][: options.batch]
    return Case(
        translator.model.train(False),
        [sources[row] for row in kept],
        DecodingSettings(options.beam, max_segments=options.segments),
        None if references is None else [references[row] for row in kept],
        lambda tokens: str(translator.tokenizer.decode([*tokens], skip_special_tokens=True)),
    )


def bare_generate(case: Case) -> Callable[[], None]:
    """The backbone's own generate, in the same batches."""
    settings = case.settings

    @torch.no_grad()
    def call() -> None:
        for rows in length_batches([len(source) for source in case.sources], settings):
            tokens = [torch.tensor(case.sources[row]) for row in rows]
            pad = case.model.backbone.pad
            input_ids = pad_sequence(tokens, batch_first=True, padding_value=pad)
            case.model.backbone.generate(
                input_ids,
                (input_ids != pad).long(),
                num_beams=settings.beam_size,
                num_return_sequences=settings.beam_size,
                length_penalty=0.0,
                max_new_tokens=settings.longest_output(max(map(len, tokens)) - 1) + 1,
                suppress_tokens=[pad],
            )

    return call


def one_rule(length: int) -> list[ForcedSpan]:
    """A word in the middle that must become another."""
    return [ForcedSpan(length // 2, length // 2 + 1, ((7,),), 0)]


def chart_share(options: argparse.Namespace) -> float:
    """Percent of cky decoding that is not the seq2seq model: 40 tokens, 5 phrases, 10 beams."""
    small = argparse.Namespace(**{**vars(options), "batch": 4, "segments": 5, "beam": 10})
    case = random_case(small, 40)
    prepare(case.model, case.sources[:1], case.settings).decode()  # compile
    prepared, encoding = harness.timed(lambda: prepare(case.model, case.sources, case.settings))
    _, first = harness.timed(prepared.decode)
    prepared._plain.clear()
    _, again = harness.timed(prepared.decode)  # candidates are known: parser and chart alone
    return 100 * again.seconds / (encoding.seconds + first.seconds)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--model", type=Path, help="a trained model; random weights without")
    parser.add_argument("--source", type=Path, help="sentences for it")
    parser.add_argument("--reference", type=Path, help="their translations, for BLEU")
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32, help="sentences, at most")
    parser.add_argument("--segments", type=int, default=3, help="most phrases a sentence")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument(
        "--thresholds", type=float, nargs="+", default=[0.2, 0.1, DecodingSettings.span_threshold]
    )
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--threads", type=int, help="torch threads; default: as they are")
    parser.add_argument("--output", type=Path, help="write every number as JSON")
    parser.add_argument("--markdown", type=Path, help="write the table into this file")
    options = parser.parse_args()
    if (options.model is None) != (options.source is None):
        parser.error("--model and --source go together")
    return options


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.markdown:
        harness.check_section(options.markdown, "decoding")
    case = trained_case(options) if options.model else random_case(options)
    frame = len(case.model.config.prefix) + len(case.model.config.suffix)
    default = f"cky, {case.settings.span_threshold:g}"
    chosen = {
        f"cky, {threshold:g}": replace(case.settings, span_threshold=threshold)
        for threshold in sorted({*options.thresholds, case.settings.span_threshold}, reverse=True)
    }
    rules = [one_rule(len(source) - frame) for source in case.sources]
    calls: dict[str, Callable[[], Any]] = {
        "generate": bare_generate(case),
        "flat": lambda: decode_flat(case.model, case.sources, case.settings),
        "cky, a rule a sentence": lambda: prepare(case.model, case.sources, case.settings).decode(
            rules
        ),
    }
    facts_of = dict.fromkeys(calls, ("", ""))
    for name, settings in chosen.items():
        prepared = prepare(case.model, case.sources, settings)
        strings = [result.hypotheses[0].tokens for result in prepared.decode()]
        plans = prepared.plans([()] * len(case.sources)).values()
        kept = sum(int(plan.kept.sum()) for plan in plans) / len(case.sources)
        facts_of[name] = f"{kept:.1f}", case.bleu(strings)
        calls[name] = lambda settings=settings: prepare(  # type: ignore[misc]
            case.model, case.sources, settings
        ).decode()
    flat_strings = decode_flat(case.model, case.sources, case.settings)
    facts_of["flat"] = "", case.bleu([own[0].tokens for own in flat_strings])
    timings = harness.interleaved_minima(calls, seconds=0.0, least=options.repetitions)
    seconds = {name: timing.seconds for name, timing in timings.items()}
    flat = seconds["flat"]
    rows = [
        [name, f"{seconds[name]:.2f}", f"{seconds[name] / flat:.2f}", *facts_of[name]]
        for name in calls
    ]
    ruled = 100 * (seconds["cky, a rule a sentence"] / seconds[default] - 1)
    bars = [
        harness.Bar(
            "flat, against generate", seconds["flat"] / seconds["generate"], 1.05, "x", False
        ),
        harness.Bar("cky, against flat", seconds[default] / flat, 5, "x", False),
        harness.Bar("a forced rule a sentence adds to cky", ruled, 10, " %", False),
        harness.Bar("the chart, of cky at 40 tokens", chart_share(options), 20, " %", False),
    ]
    facts = harness.provenance()
    weights = (
        f"the model {options.model.name}"
        if options.model
        else (
            f"random weights, T5 d = {options.hidden}, {options.layers}+{options.layers} layers, "
            f"vocabulary {VOCABULARY}, outputs as long as sources, "
            f"the parser's scores times {SHARPNESS:g}"
        )
    )
    note = (
        f"{len(case.sources)} sentences, beam {options.beam}, up to {options.segments} phrases, "
        f"{weights}; the numbers behind cky are span thresholds, the default is "
        f"{case.settings.span_threshold:g}; fastest of {options.repetitions} interleaved calls."
    )
    signature = harness.signature(facts)
    print(signature, note, "", harness.plain_table(HEADER, rows), "", *bars, sep="\n")
    if options.output:
        verdicts = [bar.to_json() for bar in bars]
        harness.write_json(options.output, {**facts, "seconds": seconds, "bars": verdicts})
    if options.markdown:
        lines = "\n".join(f"- {bar}" for bar in bars)
        source = f"Written by `python -m benchmarks.decoding --markdown` on {signature}."
        parts = (note, harness.markdown_table(HEADER, rows), lines, source)
        harness.replace_section(options.markdown, "decoding", "\n\n".join(parts))
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
