"""Flat and cky translation by a trained model: time and BLEU over the span threshold, and rules.

    python -m benchmarks.translation MODEL SOURCE REFERENCE [--sentences 300] [--output FILE.json]

One run, from texts to texts, in turns, minima; without pruning, which takes longest, once. Exit
code 1 if a bar is missed.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import harness
from btg_seq2seq.evaluation.metrics import text_scores
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.text import read_lines
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

HEADER = ["translation", "seconds", "x flat", "BLEU", "phrases decoded a sentence"]
DEFAULT = DecodingSettings.span_threshold
UNPRUNED = "cky, 0"
RULES = 10_000
Call = Callable[[], list[Translation]]


def other_rules() -> list[Rule]:
    """Many rules, none of which matches anything."""
    return [Rule(f"\N{SNOWMAN}{number} {number}", "none") for number in range(RULES)]


def rules_of(sources: Sequence[str], references: Sequence[str]) -> list[Rule]:
    """A rule for each sentence with a word that no other has: the reference's middle word."""
    rules = []
    texts = [[source[word.start : word.stop] for word in words_of(source)] for source in sources]
    counts = Counter(word for words in texts for word in words)
    for words, reference in zip(texts, references, strict=True):
        own, others = [word for word in words if counts[word] == 1], words_of(reference)
        if own and others:
            other = others[len(others) // 2]
            rules.append(Rule(own[len(own) // 2], reference[other.start : other.stop]))
    return rules


def calls_of(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    thresholds: Sequence[float],
) -> dict[str, Call]:
    """The calls to compare, by name; rules are read within."""
    calls: dict[str, Call] = {"flat": partial(translator.translate, sources, "flat")}
    for threshold in thresholds:
        calls[f"cky, {threshold:g}"] = partial(
            translator.translate, sources, "cky", span_threshold=threshold
        )

    def ruled(make: Callable[[], list[Rule]]) -> Call:
        return lambda: translator.translate(sources, "cky", RuleSet(make()))

    calls[f"cky, {RULES:,} rules that match nothing"] = ruled(other_rules)
    own = partial(rules_of, sources, references)
    calls[f"cky, these and a forced word in {len(own())} sentences"] = ruled(
        lambda: [*other_rules(), *own()]
    )
    return calls


def phrases_decoded(translator: Translator, sources: Sequence[str], threshold: float) -> float:
    """Spans that are kept, a sentence."""
    prepared = translator.prepare(sources, span_threshold=threshold)
    kept = [int(plan.kept.sum()) for group in prepared._groups for plan in group.plans().values()]
    return sum(kept) / len(sources)


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("translation", __doc__)
    parser.add_argument("model", type=Path, help="directory of a trained model")
    parser.add_argument("source", type=Path, help="sentences")
    parser.add_argument("reference", type=Path, help="their translations")
    parser.add_argument("--sentences", type=int, default=300, help="of the files, the first")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--segments", type=int, default=3, help="most phrases per sentence")
    parser.add_argument("--thresholds", type=float, nargs="+", default=[0.2, 0.1, 0.02, 0.01])
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--about", default="", help="a sentence about model and data, for the note")
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "translation")
    settings = DecodingSettings(options.beam, max_segments=options.segments)
    translator = Translator.from_pretrained(options.model, settings)
    sources, references = (
        list(read_lines(path))[: options.sentences] for path in (options.source, options.reference)
    )
    thresholds = sorted({*options.thresholds, DEFAULT, 0.0}, reverse=True)
    calls = calls_of(translator, sources, references, thresholds)
    for call in calls_of(translator, sources[:2], references[:2], [DEFAULT]).values():
        call()  # compiles
    first = {name: harness.timed(call) for name, call in calls.items()}
    again = {name: call for name, call in calls.items() if name != UNPRUNED}
    rounds = options.repetitions - 1
    more = harness.interleaved_minima(again, seconds=0.0, least=rounds) if rounds else {}
    seconds = {
        name: min(timing.seconds, more.get(name, timing).seconds)
        for name, (_, timing) in first.items()
    }
    bleu = {
        name: text_scores([each.text for each in found], references)["bleu"].value
        for name, (found, _) in first.items()
    }
    decoded = {
        f"cky, {threshold:g}": f"{phrases_decoded(translator, sources, threshold):.1f}"
        for threshold in thresholds
    }
    flat, default = seconds["flat"], f"cky, {DEFAULT:g}"
    rows = [
        [name, f"{taken:.2f}", f"{taken / flat:.2f}", f"{bleu[name]:.2f}", decoded.get(name, "")]
        for name, taken in seconds.items()
    ]
    changed = abs(bleu[default] - bleu[UNPRUNED])
    bars = [
        harness.Bar("cky, against flat", seconds[default] / flat, 5, "x", False),
        harness.Bar("pruning changes BLEU by", changed, 0.1, "", False),
    ]
    for name in list(calls)[-2:]:
        added = 100 * (seconds[name] / seconds[default] - 1)
        bars.append(harness.Bar(f"{name}, added to cky", added, 10, " %", False))
    note = (
        f"The first {len(sources)} sentences of {options.source.name}, beam {options.beam}, up to "
        f"{options.segments} phrases; the numbers behind cky are span thresholds, the default is "
        f"{DEFAULT:g} and 0 prunes nothing. Fastest of {options.repetitions} calls in turn, "
        f"without pruning one call. {options.about}"
    )
    report = harness.Report("translation", note.strip(), HEADER, rows, bars)
    return report.write(options, seconds=seconds, bleu=bleu, decoded=decoded)


if __name__ == "__main__":
    sys.exit(main())
