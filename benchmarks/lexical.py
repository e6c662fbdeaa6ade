"""The lexical teacher: the speed of its chart, the trees it finds, and what pruning loses.

All without a neural network. The chart is timed side by side with a textbook implementation and
with a plain compiled loop. Trees are compared with the gold trees of the SVO-SOV task, and, with
--cognition DIRECTORY, with the phrases that the files ``*/train.compound`` name. Word-translation
tables of sil-thot's aligners are compared if it is installed (pip install btg-seq2seq[align]).
"""

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks import harness
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.lexical import (
    LexicalSettings,
    LexicalTeacher,
    TaughtCorpus,
    UnitCorpus,
    UnitSide,
    WordTables,
)
from btg_seq2seq.derivations.lexical.kernels import (
    bitext_kernels,
    layouts,
    sum_kernels,
    table_kernels,
)
from btg_seq2seq.derivations.lexical.kernels.bitext_kernels import LOG_MAX
from btg_seq2seq.tasks.svo_sov import Item, Split, SvoSovConfig, generate
from btg_seq2seq.text.words import words_of

UNITS, OTHERS, MOST = 20, 24, 4
SPLITS: tuple[Split, ...] = ("few-shot", "novel-position")
COMPOUNDS = ("NP", "VP", "PP")
HEADER = ["tables", "phrase counts", "few-shot", "novel-position", *COMPOUNDS]
ALIGNERS = ("FastAlign", "Hmm", "Ibm4", "Eflomal")


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


def aligned_tables(corpus: UnitCorpus, aligner: str) -> WordTables:
    """Tables of the links that an aligner of sil-thot finds, mixed with a little of IBM model 1."""
    from thot import alignment

    tables = WordTables.estimate(corpus)
    sides = [
        [[str(token) for token in side.tokens[begin:end]] for begin, end in _ranges(side)]
        for side in (corpus.source, corpus.target)
    ]
    models = []
    for read, written in (sides, sides[::-1]):
        model = getattr(alignment, f"{aligner}AlignmentModel", None) or alignment.FastAlignModel
        model = model()
        for pair in zip(read, written, strict=True):
            model.add_sentence_pair(*pair, 1)
        model.start_training()
        for _ in range(5):
            model.train()
        model.end_training()
        models.append(model)
    counts = np.zeros((2, len(tables.columns)))
    x, y = tables.numbered(corpus)
    starts = zip(corpus.source.ends, corpus.target.ends, strict=True)
    for row, other, (begin, first) in zip(*sides, starts, strict=False):
        if not row or not other:
            continue
        for direction, model in enumerate(models):
            pair = (row, other) if direction == 0 else (other, row)
            _, matrix = model.get_best_alignment(*pair)
            links = np.argwhere(np.array(matrix.to_numpy()))
            for i, j in links if direction == 0 else links[:, ::-1]:
                word, translation = x[begin + i], y[first + j]
                place = table_kernels.find(tables.begins, tables.columns, word, translation)
                counts[:, place] += 0.5
    rows = np.repeat(np.arange(len(tables.source_words)), np.diff(tables.begins))
    shares = []
    groupings: list[Any] = [rows, tables.columns]
    for values, groups in zip(counts, groupings, strict=True):
        totals = np.bincount(groups, values)[groups]
        shares.append(np.divide(values, totals, out=np.zeros_like(values), where=totals > 0))
    return replace(
        tables,
        forward=0.9 * shares[0] + 0.1 * tables.forward,
        backward=0.9 * shares[1] + 0.1 * tables.backward,
    )


def _ranges(side: UnitSide) -> list[tuple[int, int]]:
    return [*pairwise(side.ends.tolist())]


def right_trees(items: Sequence[Item], taught: TaughtCorpus) -> float:
    """Percentage of gold trees among the best with three phrases."""
    found = (taught.best_derivation(place, 3) for place in range(len(items)))
    right = [
        one is not None and one.tree == item.tree for one, item in zip(found, items, strict=True)
    ]
    return 100 * float(np.mean(right))


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
) -> float:
    """Percentage of sentences whose best derivation translates the named phrase as a whole."""
    found = 0
    for place, (source, compound) in enumerate(zip(sources, compounds, strict=True)):
        derivation = taught.best_derivation(place)
        size = len(compound)
        found += derivation is not None and any(
            source[start : start + size] == compound
            and is_constituent(derivation, start, start + size)
            for start in range(len(source) - size + 1)
        )
    return 100 * found / len(sources)


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
        for split, sets in self.toys.items():
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
            results[kind] = compounds_found(source, named, _taught(corpus, tables, settings))
        return results


def _taught(corpus: UnitCorpus, tables: str, settings: LexicalSettings) -> TaughtCorpus:
    given = aligned_tables(corpus, tables) if tables in ALIGNERS else None
    return LexicalTeacher.learn(corpus, settings, tables=given).teach()


def pruning_bar(cognition: Path) -> harness.Bar:
    """Share of sentences whose best derivation changes by pruning, with the same counts."""
    source, target = (words(cognition / "NP" / f"train.{end}") for end in ("en", "zh"))
    corpus = UnitCorpus(UnitSide.of_words(source), UnitSide.of_words(target))
    exact = LexicalTeacher.learn(corpus, LexicalSettings(draws=0, beam=None))
    pruned = replace(exact, settings=LexicalSettings(draws=0))
    one, other = exact.teach(), pruned.teach()
    places = range(len(corpus))
    changed = [one.best_derivation(place) != other.best_derivation(place) for place in places]
    share = 100 * float(np.mean(changed))
    return harness.Bar("best derivations changed by pruning, NP", share, 1, " %", False)


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("lexical", __doc__)
    parser.add_argument("--cognition", type=Path, help="directory with NP, VP and PP")
    parser.add_argument("--seeds", type=int, default=1, help="of the SVO-SOV task")
    parser.add_argument("--sentences", type=int, help="of the SVO-SOV task; default: all")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--aligners", action="store_true", help="compare tables of sil-thot")
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
        *((name, settings) for name in ALIGNERS if options.aligners),
    ]
    rows, results = [], []
    for name, chosen in systems:
        found = corpora.judge(name, chosen)
        results.append(found)
        counts = "yes" if chosen.phrase_iterations else "no"
        shares = [
            f"{found[key]:.1f}" if key in found else harness.NOT_MEASURED for key in HEADER[2:]
        ]
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
        bars.append(pruning_bar(options.cognition))
    note = (
        f"Training sentences ({options.sentences or 'all'} of SVO-SOV), percent. SVO-SOV: gold "
        "trees among the best with three phrases, worst "
        f"of {options.seeds} seeds. NP, VP, PP: the phrase named by CoGnition is translated as a "
        "whole, by adjacent phrases that tile it, in the most probable derivation of up to four "
        f"phrases. A chart of {UNITS} x {OTHERS} units and {MOST} phrases takes {speed}. Processor "
        f"time of the whole benchmark: {time.process_time() - began:.0f} s."
    )
    report = harness.Report("lexical", note, HEADER, rows, bars)
    return report.write(options, results=results)


if __name__ == "__main__":
    sys.exit(main())
