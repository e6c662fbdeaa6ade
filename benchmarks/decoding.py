"""The cost of cky decoding, in flat decodings of the same sentences with the same beam.

    python -m benchmarks.decoding [--hidden 512] [--layers 6] [--batch 32] [--output FILE.json]

One run, interleaved repetitions, minima. Weights are random, outputs are as long as their sources,
and the source parser is sharpened until its trees differ; ``benchmarks.translation`` takes a
trained model. Exit code 1 if a bar is missed.
"""

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from benchmarks import harness
from btg_seq2seq.decoding.chart.cky import PreparedSentences, prepare
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.search.batches import pass_batches
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq

HEADER = ["decoding", "seconds", "x flat", "phrases per sentence"]
VOCABULARY = 8000
SHARPNESS = 30.0  # of the random parser, whose trees are nearly uniform otherwise


@dataclass(frozen=True)
class Case:
    """A model with sentences for it."""

    model: BTGSeq2Seq
    sources: list[list[int]]
    settings: DecodingSettings

    def prepare(self, **settings: Any) -> PreparedSentences:
        """Prepare the sentences for cky decoding."""
        chosen = replace(self.settings, **settings)
        phrases = Seq2SeqPhrases(self.model, self.sources, chosen)
        return prepare(phrases, phrases.grammar, chosen)


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
    return Case(model.train(False), sources, settings)


def bare_generate(case: Case) -> Callable[[], None]:
    """The backbone's own generate, in the same batches."""
    settings = case.settings

    @torch.no_grad()
    def call() -> None:
        for rows in pass_batches([len(source) for source in case.sources], settings):
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


def chart_share(options: argparse.Namespace) -> float:
    """Percent of cky decoding that is not the seq2seq model: 40 tokens, 5 phrases, 10 beams."""
    small = argparse.Namespace(**{**vars(options), "batch": 4, "segments": 5, "beam": 10})
    case = random_case(small, 40)
    replace(case, sources=case.sources[:1]).prepare().decode()  # compile
    prepared, encoding = harness.timed(case.prepare)
    _, first = harness.timed(prepared.decode)
    prepared._plain.clear()
    _, again = harness.timed(prepared.decode)  # candidates are known: parser and chart alone
    return 100 * again.seconds / (encoding.seconds + first.seconds)


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("decoding", __doc__)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32, help="sentences")
    parser.add_argument("--segments", type=int, default=3, help="most phrases per sentence")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--thresholds", type=float, nargs="+", default=[0.2, 0.1])
    parser.add_argument("--repetitions", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "decoding")
    case = random_case(options)
    default = DecodingSettings.span_threshold
    calls: dict[str, Callable[[], Any]] = {
        "generate": bare_generate(case),
        "flat": lambda: decode_flat(Seq2SeqPhrases(case.model, case.sources, case.settings)),
    }
    phrases = dict.fromkeys(calls, "")
    for threshold in sorted({*options.thresholds, default}, reverse=True):
        name = f"cky, {threshold:g}"
        plans = case.prepare(span_threshold=threshold).plans().values()
        phrases[name] = f"{sum(int(plan.kept.sum()) for plan in plans) / len(case.sources):.1f}"
        calls[name] = lambda threshold=threshold: case.prepare(  # type: ignore[misc]
            span_threshold=threshold
        ).decode()
    replace(case, sources=case.sources[:1]).prepare().decode()  # compile
    timings = harness.interleaved_minima(calls, seconds=0.0, least=options.repetitions)
    seconds = {name: timing.seconds for name, timing in timings.items()}
    flat, cky = seconds["flat"], seconds[f"cky, {default:g}"]
    rows = [
        [name, f"{taken:.2f}", f"{taken / flat:.2f}", phrases[name]]
        for name, taken in seconds.items()
    ]
    bars = [
        harness.Bar("flat, against generate", flat / seconds["generate"], 1.05, "x", False),
        harness.Bar("cky, against flat", cky / flat, 5, "x", False),
        harness.Bar("the chart, of cky at 40 tokens", chart_share(options), 20, " %", False),
    ]
    note = (
        f"{len(case.sources)} sentences, beam {options.beam}, up to {options.segments} phrases, "
        f"random weights, T5 d = {options.hidden}, {options.layers}+{options.layers} layers, "
        f"vocabulary {VOCABULARY}, outputs as long as sources, the parser's scores times "
        f"{SHARPNESS:g}; the numbers behind cky are span thresholds, the default is {default:g}; "
        f"fastest of {options.repetitions} interleaved calls."
    )
    report = harness.Report("decoding", note, HEADER, rows, bars)
    return report.write(options, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main())
