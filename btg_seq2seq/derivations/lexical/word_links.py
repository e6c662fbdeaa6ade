"""Links between the words of a bitext, for word alignments.

Phrases need no positions to be found, because the grammar orders them; links of single words do.
This is IBM model 1 in both directions with a preference for words at the same place of the other
sentence, as in FastAlign (Dyer et al. 2013). How strong it is, the ``tension``, is estimated too.
Tables are the means of a Dirichlet posterior (Riley and Gildea 2012), which keeps rare words from
collecting what has nothing to do with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels import link_kernels
from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus
from btg_seq2seq.derivations.lexical.word_tables import Floats, WordTables

if TYPE_CHECKING:
    from btg_seq2seq.derivations.lexical.teacher import Track

TENSIONS = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0])
PLAIN_ITERATIONS = 3  # without positions, so that these mean something afterwards
CONCENTRATION = 0.1  # of the Dirichlet distribution
SMALLEST = 1e-9  # probability that the empty word writes a word
ITERATIONS = 8


@dataclass(frozen=True, eq=False)
class WordLinks:
    """A model of links between the words of a bitext."""

    corpus: UnitCorpus
    words: tuple[NDArray[np.int64], NDArray[np.int64]]  # all words of both sides, numbered
    entries: tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]  # as in ``WordTables``
    nulls: tuple[Floats, Floats]  # target and source words given the empty word
    tension: float

    @classmethod
    def estimate(
        cls,
        corpus: UnitCorpus,
        tables: WordTables,
        iterations: int = ITERATIONS,
        track: Track | None = None,
    ) -> WordLinks:
        """Estimate it from the bitext whose co-occurrences ``tables`` has."""
        source, target = tables.numbered(corpus)
        texts = source, corpus.source.ends, target, corpus.target.ends
        begins, columns = tables.begins, tables.columns
        sizes = len(tables.source_words), len(tables.target_words)
        rows = np.repeat(np.arange(sizes[0]), np.diff(begins))
        forward = np.full(len(columns), 1 / max(sizes[1], 1))
        backward = np.full(len(columns), 1 / max(sizes[0], 1))
        nulls = tuple(np.full(size, 1 / max(size, 1)) for size in sizes[::-1])
        tension = 0.0
        rounds = range(iterations)
        for step in rounds if track is None else track(rounds, "word links"):
            counts = tuple(np.zeros(size) for size in (len(columns), len(columns), *sizes[::-1]))
            gains = np.zeros(len(TENSIONS))
            entries = begins, columns, forward, backward
            link_kernels.expect_links(texts, entries, nulls, tension, TENSIONS, counts, gains)
            forward = _posterior_means(counts[0], rows, sizes[0])
            backward = _posterior_means(counts[1], columns, sizes[1])
            nulls = tuple(
                _posterior_means(each, np.zeros(len(each), np.int64), 1) + SMALLEST
                for each in counts[2:]
            )
            if step + 1 >= PLAIN_ITERATIONS:
                tension = float(TENSIONS[gains.argmax()])
        entries = begins, columns, forward, backward
        return cls(corpus, (source, target), entries, (nulls[0], nulls[1]), tension)

    def probabilities(self, sentence: int) -> Floats:
        """Probability that both directions link two words, ``[source, target]``."""
        sides = self.corpus.source, self.corpus.target
        source, target = (
            words[side.ends[sentence] : side.ends[sentence + 1]]
            for words, side in zip(self.words, sides, strict=True)
        )
        links, _, _ = link_kernels.link_posteriors(
            source, target, self.entries, self.nulls, self.tension
        )
        return np.asarray(links[0] * links[1])


def _posterior_means(counts: Floats, groups: NDArray[np.integer], size: int) -> Floats:
    """Exponentials of expected logarithms under a Dirichlet posterior, within each group."""
    totals = np.bincount(groups, counts + CONCENTRATION, minlength=size)[groups]
    logs = torch.special.digamma(torch.from_numpy(np.stack([counts + CONCENTRATION, totals])))
    return np.asarray(torch.exp(logs[0] - logs[1]).numpy())
