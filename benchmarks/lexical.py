"""The lexical teacher: the speed of its chart, the trees it finds, and what pruning loses.

All without a neural network. The chart is timed side by side with a textbook implementation and
with a plain compiled loop. Trees are compared with the gold trees of the SVO-SOV task, and, with
--cognition DIRECTORY, with the phrases that the files ``*/train.compound`` name. Pruning is
compared with exact charts on the longest affordable sentence pairs of each --pruning corpus, and of
NP. Word-translation tables of sil-thot's aligners are compared if it is installed (pip install
btg-seq2seq[align]).
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks import harness
from benchmarks.lexical_tables import ALIGNERS, aligned_tables, held_out, in_tokens
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.lexical import (
    LexicalSettings,
    LexicalTeacher,
    TaughtCorpus,
    UnitCorpus,
    UnitSide,
)
from btg_seq2seq.derivations.lexical.kernels import (
    bitext_kernels,
    layouts,
    sum_kernels,
)
from btg_seq2seq.derivations.lexical.kernels.bitext_kernels import LOG_MAX
from btg_seq2seq.tasks.svo_sov import Item, Split, SvoSovConfig, generate
from btg_seq2seq.text.words import words_of

UNITS, OTHERS, MOST = 20, 24, 4
SPLITS: tuple[Split, ...] = ("few-shot", "novel-position")
COMPOUNDS = ("NP", "VP", "PP")
HELD_OUT = "held out"
TOKENS = "IBM model 1 on tokens"
LONGEST_EXACT, MOST_EXACT = 50, 200  # units, and pairs, of charts without pruning
HEADER = ["tables", "phrase counts", "few-shot", "novel-position", *COMPOUNDS, HELD_OUT]


def textbook_maxima(scores: Any, most: int) -> float:
    """The best derivation, by loops over cells and a NumPy maximum over target splits."""
    units, others = scores.shape[0] - 1, scores.shape[2] - 1
    best = np.full((most + 1, *scores.shape), -np.inf)
    best[1] = scores
    for n in range(2, most + 1):
        for width in range(n, units + 1):
            for i in range(units - width + 1):
                k = i + width
                for a in range(others):
                    for c in range(a + n, others + 1):
                        top = -math.inf
                        for m in range(1, n):
                            for j in range(i + m, k - (n - m) + 1):
                                b = slice(a + 1, c)
                                straight = best[m, i, j, a, b] + best[n - m, j, k, b, c]
                                inverted = best[m, i, j, b, c] + best[n - m, j, k, a, b]
                                top = max(top, straight.max(), inverted.max())
                        best[n, i, k, a, c] = top
    return float(best[most, 0, units, 0, others])


@njit(cache=True)
def scalar_maxima(scores, most):  # type: ignore[no-untyped-def]
    """The same in a compiled loop over all cells, which also notes how each was reached."""
    units, others = scores.shape[0] - 1, scores.shape[2] - 1
    best = np.full((most + 1, *scores.shape), -np.inf, np.float32)
    reached = np.zeros((most + 1, *scores.shape, 4), np.int16)
    best[1] = scores
    for n in range(2, most + 1):
        for i in range(units):
            for k in range(i + n, units + 1):
                for a in range(others):
                    for c in range(a + n, others + 1):
                        top = np.float32(-np.inf)
                        for m in range(1, n):
                            for j in range(i + m, k - (n - m) + 1):
                                for b in range(a + 1, c):
                                    straight = best[m, i, j, a, b] + best[n - m, j, k, b, c]
                                    if straight > top:
                                        top = straight
                                        reached[n, i, k, a, c] = (j, b, m, 0)
                                    inverted = best[m, i, j, b, c] + best[n - m, j, k, a, b]
                                    if inverted > top:
                                        top = inverted
                                        reached[n, i, k, a, c] = (j, b, m, 1)
                        best[n, i, k, a, c] = top
    return best[most, 0, units, 0, others]


def chart_bars(repetitions: int) -> tuple[list[harness.Bar], str]:
    """Time the chart side by side with the two others, at the size of the bars."""
    random = np.random.default_rng(0)
    dense = np.full((UNITS + 1, UNITS + 1, OTHERS + 1, OTHERS + 1), -np.inf)
    layout, size = layouts.whole_layout(UNITS, OTHERS + 1)
    scores = np.full(size, -np.inf)
    for k in range(1, UNITS + 1):
        for i in range(k):
            here = layouts.span(i, k)
            for a in range(OTHERS):
                for c in range(a + 1, OTHERS + 1):
                    dense[i, k, a, c] = -30 * random.random()
                    scores[layout.row[here, a] + c] = dense[i, k, a, c]
    orders, phrases = np.zeros(2), np.zeros((MOST, 4), np.int64)

    def chart() -> float:
        cells, roots = sum_kernels.maxima(scores, orders, layout, UNITS, MOST)
        sizes = layout, UNITS, MOST
        bitext_kernels.descend(LOG_MAX, scores, cells, orders, *sizes, np.zeros(MOST), phrases)
        return float(roots[-1])

    # All must agree; the textbook is compared on a smaller sentence pair, because it is slow.
    small = dense[:11, :11, :13, :13]
    found, expected = chart(), scalar_maxima(dense, MOST)
    if not math.isclose(found, expected, rel_tol=1e-4):
        raise RuntimeError(f"the chart finds {found}, the loop {expected}")
    if not math.isclose(textbook_maxima(small, 3), scalar_maxima(small, 3), rel_tol=1e-4):
        raise RuntimeError("the textbook and the loop differ")
    timings = harness.interleaved_minima(
        {"chart": chart, "scalar": lambda: scalar_maxima(dense, MOST)}, least=repetitions
    )
    _, textbook = harness.timed(lambda: textbook_maxima(dense, MOST))
    own = timings["chart"].processor_seconds
    where = f"chart at {UNITS} x {OTHERS} units, {MOST} phrases, against"
    bars = [
        harness.Bar(f"{where} the textbook", textbook.processor_seconds / own, 200, "x"),
        harness.Bar(f"{where} a scalar loop", timings["scalar"].processor_seconds / own, 3, "x"),
    ]
    return bars, f"{own * 1e3:.1f} ms"


def right_trees(items: Sequence[Item], taught: TaughtCorpus) -> float:
    """Percentage of gold trees among the best with three phrases."""
    found = (taught.best_derivation(place, 3) for place in range(len(items)))
    right = [
        one is not None and one.tree == item.tree for one, item in zip(found, items, strict=True)
    ]
    return 100 * float(np.mean(right))


def is_node(derivation: Derivation, start: int, stop: int) -> bool:
    """Tell whether a span is a node or a leaf of the tree in normal form."""
    nodes = [(node.start, node.stop) for node in derivation.tree.nodes]
    return (start, stop) in nodes or any(
        phrase.source == (start, stop) for phrase in derivation.phrases
    )


def is_constituent(derivation: Derivation, start: int, stop: int) -> bool:
    """Tell whether a span is translated as a whole: its phrases tile it, and are adjacent."""
    inside = [
        rank
        for rank, phrase in enumerate(derivation.phrases)
        if start <= phrase.source[0] and phrase.source[1] <= stop
    ]
    covered = sum(
        derivation.phrases[rank].source[1] - derivation.phrases[rank].source[0] for rank in inside
    )
    return covered == stop - start and inside[-1] - inside[0] == len(inside) - 1


def words(path: Path) -> list[list[str]]:
    """Words of each line of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[line[word.start : word.stop] for word in words_of(line)] for line in lines]


def compounds_found(
    sources: list[list[str]], compounds: list[list[str]], taught: TaughtCorpus
) -> tuple[float, float]:
    """Percentage of sentences whose best derivation translates the named phrase as a whole.

    Such that phrases tile it, and such that it is a node of the tree.
    """
    found = np.zeros(2)
    for place, (source, compound) in enumerate(zip(sources, compounds, strict=True)):
        derivation = taught.best_derivation(place)
        size = len(compound)
        starts = [
            start
            for start in range(len(source) - size + 1)
            if source[start : start + size] == compound
        ]
        if derivation is not None:
            for rank, is_found in enumerate((is_constituent, is_node)):
                found[rank] += any(is_found(derivation, start, start + size) for start in starts)
    tiled, nodes = 100 * found / len(sources)
    return float(tiled), float(nodes)


class Corpora:
    """The corpora that trees are judged on."""

    def __init__(self, seeds: int, sentences: int | None, cognition: Path | None) -> None:
        self.toys = {
            split: [
                generate(SvoSovConfig(split, seed))["train"][:sentences] for seed in range(seeds)
            ]
            for split in SPLITS
        }
        self.compounds = {}
        if cognition is not None:
            for kind in COMPOUNDS:
                parts = (
                    words(cognition / kind / f"train.{end}") for end in ("en", "zh", "compound")
                )
                self.compounds[kind] = tuple(parts)

    def judge(self, tables: str, settings: LexicalSettings) -> dict[str, float]:
        """Trees found with some source of tables, in percent; the worst of all seeds."""
        results: dict[str, float] = {}
        for split, sets in self.toys.items() if tables != TOKENS else ():
            limits = replace(settings, max_segments=3, max_phrase_length=8)
            shares = []
            for items in sets:
                texts = [item.source for item in items], [item.target for item in items]
                shares.append(
                    right_trees(items, _taught(UnitCorpus.of_text(*texts), tables, limits))
                )
            results[split] = min(shares)
        for kind, (source, target, named) in self.compounds.items():
            corpus = UnitCorpus(UnitSide.of_words(source), UnitSide.of_words(target))
            if tables == TOKENS:
                corpus = in_tokens(source, target)
            taught = _taught(corpus, tables, settings)
            results[kind], results[f"{kind} nodes"] = compounds_found(source, named, taught)
            if kind == "NP" and tables != TOKENS:  # other tokens would have other likelihoods
                results[HELD_OUT] = held_out(corpus, tables, settings)
        return results


def _taught(corpus: UnitCorpus, tables: str, settings: LexicalSettings) -> TaughtCorpus:
    given = aligned_tables(corpus, tables) if tables in ALIGNERS else None
    return LexicalTeacher.learn(corpus, settings, tables=given).teach()


def pruning_bar(name: str, source: Path, target: Path) -> harness.Bar:
    """Share of sentence pairs whose best derivation changes by pruning, with the same counts.

    Only pairs that are affordable without pruning.
    """
    corpus = UnitCorpus(*(UnitSide.of_words(words(path)) for path in (source, target)))
    longest = np.maximum(corpus.source.units, corpus.target.units)
    possible = np.flatnonzero(longest <= LONGEST_EXACT)
    # The longer ones: those that are pruned most.
    places = possible[np.argsort(-longest[possible], kind="stable")][:MOST_EXACT]
    corpus = corpus.only(np.isin(np.arange(len(corpus)), places))
    pruned = LexicalTeacher.learn(corpus, LexicalSettings(draws=0))
    exact = replace(pruned, settings=replace(pruned.settings, beam=None))
    one, other = exact.teach(), pruned.teach()
    changed = [one.best_derivation(place) != other.best_derivation(place) for place in places]
    share = 100 * float(np.mean(changed))
    shortest = int(longest[places].min())
    what = f"{len(places)} pairs of {shortest} to {int(longest[places].max())} units"
    return harness.Bar(
        f"best derivations changed by pruning, {name}, {what}", share, 1, " %", False
    )


def shown(found: dict[str, float], key: str) -> str:
    """A cell of the table."""
    if key not in found:
        return harness.NOT_MEASURED
    if key == HELD_OUT:
        return f"{found[key]:.2f}"
    nodes = f" / {found[f'{key} nodes']:.1f}" if key in COMPOUNDS else ""
    return f"{found[key]:.1f}{nodes}"


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("lexical", __doc__)
    parser.add_argument("--cognition", type=Path, help="directory with NP, VP and PP")
    parser.add_argument(
        "--pruning",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "SOURCE", "TARGET"),
        help="a bitext to compare pruning on; may be given several times",
    )
    parser.add_argument("--seeds", type=int, default=1, help="of the SVO-SOV task")
    parser.add_argument("--sentences", type=int, help="of the SVO-SOV task; default: all")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument(
        "--aligners", action="store_true", help="compare tables of tokens, and of sil-thot"
    )
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "lexical")
    began = time.process_time()
    bars, speed = chart_bars(options.repetitions)
    corpora = Corpora(options.seeds, options.sentences, options.cognition)
    settings = LexicalSettings(draws=0)
    systems = [
        ("IBM model 1", replace(settings, phrase_iterations=0)),
        ("IBM model 1, agreement", replace(settings, phrase_iterations=0, agreement=True)),
        ("IBM model 1", settings),
        ("IBM model 1, agreement", replace(settings, agreement=True)),
        *((name, settings) for name in (TOKENS, *ALIGNERS) if options.aligners),
    ]
    rows, results = [], []
    for name, chosen in systems:
        found = corpora.judge(name, chosen)
        results.append(found)
        counts = "yes" if chosen.phrase_iterations else "no"
        shares = [shown(found, key) for key in HEADER[2:]]
        rows.append([name, counts, *shares])
        print(harness.plain_table(HEADER, rows[-1:]), flush=True)
    best = results[2]  # the default
    bars += [harness.Bar(f"SVO-SOV trees, {split}", best[split], 90, " %") for split in SPLITS]
    bars += [
        harness.Bar(f"compounds, {kind}", best[kind], 80, " %")
        for kind in COMPOUNDS
        if kind in best
    ]
    if options.cognition is not None:
        files = (options.cognition / "NP" / f"train.{end}" for end in ("en", "zh"))
        bars.append(pruning_bar("NP", *files))
    bars += [pruning_bar(name, Path(one), Path(other)) for name, one, other in options.pruning]
    note = (
        f"Training sentences ({options.sentences or 'all'} of SVO-SOV), percent. SVO-SOV: gold "
        "trees among the best with three phrases, worst "
        f"of {options.seeds} seeds. NP, VP, PP: the phrase named by CoGnition is translated as a "
        "whole, by adjacent phrases that tile it, in the most probable derivation of up to four "
        "phrases; behind the stroke, it is a node of the tree in normal form. "
        "Held out: nats per unit of the last tenth of NP, by tables of the rest. "
        f"A chart of {UNITS} x {OTHERS} units and {MOST} phrases takes {speed}. Processor "
        f"time of the whole benchmark: {time.process_time() - began:.0f} s."
    )
    report = harness.Report("lexical", note, HEADER, rows, bars)
    return report.write(options, results=results)


if __name__ == "__main__":
    sys.exit(main())
