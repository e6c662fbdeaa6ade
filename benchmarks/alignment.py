"""Word alignments against gold ones: btg biparse beside FastAlign and Eflomal, on the same text.

    python -m benchmarks.alignment DIRECTORY/enfr

``DIRECTORY/enfr.src-tgt`` has a sentence pair per line, ``source ||| target``, in words between
spaces, and ``DIRECTORY/enfr.gold`` its links, counted from 1, as ``2-3`` or, if only possible,
``2p3``. All systems see this text alone, and what --with adds to it. Needs the extra ``align``.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from btg_seq2seq.evaluation.alignment_error import (
    AlignmentScore,
    GoldAlignment,
    Link,
    alignment_score,
    parse_links,
)
from btg_seq2seq.translation.biparse import biparse

HEADER = ["system", "error rate", "precision", "recall", "processor time"]
HEURISTICS = {
    "intersection": "INTERSECTION",
    "grow-diag": "GROW_DIAG",
    "grow-diag-final-and": "GROW_DIAG_FINAL_AND",
}
EFLOMAL_ITERATIONS = 60
FAST_ALIGN_ITERATIONS = 5


def own_links(sources: Sequence[str], targets: Sequence[str], count: int) -> list[list[Link]]:
    """Find the links of ``btg biparse --format pharaoh`` for the first sentence pairs."""
    parsed = biparse(sources, targets)
    return [
        [(int(x), int(y)) for x, y in (link.split("-") for link in parsed.pharaoh(place).split())]
        for place in range(count)
    ]


def both_directions(
    create: Callable[[], Any], iterations: int, texts: Sequence[Sequence[str]]
) -> list[Any]:
    """Train an aligner of sil-thot in both directions."""
    models = []
    for read, written in (texts, texts[::-1]):
        model = create()
        for one, other in zip(read, written, strict=True):
            model.add_sentence_pair(one.split(), other.split())
        model.start_training()
        for _ in range(iterations):
            model.train()
        model.end_training()
        models.append(model)
    return models


def symmetrised_links(
    models: Sequence[Any], sources: Sequence[str], targets: Sequence[str], heuristic: str
) -> list[list[Link]]:
    """Find the links of both directions, joined."""
    from thot import alignment

    aligner = alignment.SymmetrizedAligner(*models)
    aligner.heuristic = getattr(alignment.SymmetrizationHeuristic, HEURISTICS[heuristic])
    found = []
    for source, target in zip(sources, targets, strict=True):
        _, matrix = aligner.get_best_alignment(source.split(), target.split())
        links = np.argwhere(matrix.to_numpy()).tolist()
        found.append([(x, y) for x, y in links])
    return found


def row(name: str, score: AlignmentScore, seconds: float) -> list[str]:
    """Cells of a table."""
    figures = (score.error_rate, score.precision, score.recall)
    return [name, *(f"{figure:.1f}" for figure in figures), f"{seconds:.1f} s"]


def read_gold(stem: Path) -> tuple[list[str], list[str], list[GoldAlignment]]:
    """Read the sentence pairs and their gold links."""
    lines = Path(f"{stem}.src-tgt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("|||") for line in lines]
    sources, targets = ([" ".join(pair[side].split()) for pair in pairs] for side in range(2))
    path = Path(f"{stem}.gold")
    gold = [
        parse_links(line, f"{path}: line {number}", first=1)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    return sources, targets, gold


def parse_arguments() -> argparse.Namespace:
    """Arguments of the command line."""
    parser = harness.arguments("alignment", __doc__)
    parser.add_argument("gold", type=Path, help="stem of the two files")
    parser.add_argument(
        "--with", dest="more", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="more text"
    )
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "alignment")
    try:
        from thot import alignment
    except ImportError:
        print("sil-thot is missing: pip install 'btg-seq2seq[align]'", file=sys.stderr)
        return 2
    sources, targets, gold = read_gold(options.gold)
    texts = [sources, targets]
    if options.more is not None:
        texts = [
            [*own, *path.read_text(encoding="utf-8").splitlines()]
            for own, path in zip(texts, options.more, strict=True)
        ]
    links, timing = harness.timed(lambda: own_links(texts[0], texts[1], len(gold)))
    own = alignment_score(links, gold)
    rows = [row("btg biparse", own, timing.processor_seconds)]
    best: dict[str, float] = {}
    for name, create, iterations in (
        ("FastAlign", alignment.FastAlignModel, FAST_ALIGN_ITERATIONS),
        ("Eflomal", alignment.EflomalAlignmentModel, EFLOMAL_ITERATIONS),
    ):
        train = partial(both_directions, create, iterations, texts)
        models, timing = harness.timed(train)
        for heuristic in HEURISTICS:
            score = alignment_score(symmetrised_links(models, sources, targets, heuristic), gold)
            rows.append(row(f"{name}, {heuristic}", score, timing.processor_seconds))
            best[name] = min(best.get(name, 100.0), score.error_rate)
    difference = own.error_rate - best["FastAlign"]
    bars = [harness.Bar("error rate minus FastAlign's best", difference, 0, "", at_least=False)]
    note = (
        f"{len(gold)} sentence pairs with gold links, trained on {len(texts[0])} pairs, these "
        "included. The two aligners are those of sil-thot, symmetrised."
    )
    return harness.Report("alignment", note, HEADER, rows, bars).write(options)


if __name__ == "__main__":
    sys.exit(main())
