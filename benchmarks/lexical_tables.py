"""Word-translation tables to compare with the lexical teacher's own."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from btg_seq2seq.derivations.lexical import (
    LexicalSettings,
    LexicalTeacher,
    UnitCorpus,
    UnitSide,
    WordTables,
)
from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.units import unit_table

ALIGNERS = {
    "FastAlign": ("FastAlignModel",),
    "HMM": ("Ibm1AlignmentModel", "HmmAlignmentModel"),
    "IBM model 4": (
        "Ibm1AlignmentModel",
        "HmmAlignmentModel",
        "Ibm3AlignmentModel",
        "Ibm4AlignmentModel",
    ),
    "Eflomal": ("EflomalAlignmentModel",),
}  # of sil-thot


def aligned_tables(corpus: UnitCorpus, aligner: str) -> WordTables:
    """Word-translation tables of an aligner of sil-thot; the rest is that of IBM model 1."""
    from thot import alignment

    tables = WordTables.estimate(corpus, agreement=False)
    sides = [
        [[str(token) for token in side.tokens[begin:end]] for begin, end in _ranges(side)]
        for side in (corpus.source, corpus.target)
    ]
    rows = np.repeat(tables.source_words, np.diff(tables.begins))
    columns = tables.target_words[tables.columns]
    shares = []
    ways: list[Any] = [(*sides, rows, columns), (*sides[::-1], columns, rows)]
    for read, written, given, found in ways:
        model: Any = None
        for stage in ALIGNERS[aligner]:  # each begins with what the one before it has learned
            kind = getattr(alignment, stage)
            model = kind(model) if model is not None else kind()
            if model.num_sentence_pairs == 0:
                for pair in zip(read, written, strict=True):
                    model.add_sentence_pair(*pair, 1)
            model.start_training()
            for _ in range(5):
                model.train()
            model.end_training()
        x = [model.get_src_word_index(str(word)) for word in given]
        y = [model.get_trg_word_index(str(word)) for word in found]
        shares.append(np.array([*map(model.translation_prob, x, y)]))
    return replace(tables, forward=shares[0], backward=shares[1])


def in_tokens(source: list[list[str]], target: list[list[str]]) -> UnitCorpus:
    """A bitext in tokens of a BPE tokenizer; its units are words, or tokens of unspaced scripts."""
    bitext = Bitext([*map(" ".join, source)], [*map("".join, target)])
    tokenizer = train_tokenizer("bpe", bitext.source + bitext.target, 2000)
    data, units = encode_bitext(bitext, tokenizer), unit_table(tokenizer)
    return unit_corpus(data, tokenizer, units, in_tokens=True)


def held_out(corpus: UnitCorpus, tables: str, settings: LexicalSettings) -> float:
    """Nats per unit of the last tenth of a corpus, by word tables of the rest."""
    first = len(corpus) * 9 // 10
    rest, last = (_part(corpus, *ends) for ends in ((0, first), (first, len(corpus))))
    known = (
        aligned_tables(rest, tables)
        if tables in ALIGNERS
        else WordTables.estimate(rest, settings.table_iterations, settings.agreement)
    )
    plain = replace(settings, phrase_iterations=0)
    taught = LexicalTeacher.learn(last, plain, tables=known).teach()
    weights = np.logaddexp.reduce(taught.log_partitions + taught.log_counts, axis=1)
    used = np.isfinite(weights)
    units = (last.source.units + last.target.units)[used].sum()
    return -float(weights[used].sum() / units)


def _part(corpus: UnitCorpus, begin: int, end: int) -> UnitCorpus:
    sides = []
    for side in (corpus.source, corpus.target):
        rows = [side.tokens[first:last].tolist() for first, last in _ranges(side)[begin:end]]
        posts = [side.fenceposts(place).tolist() for place in range(begin, end)]
        sides.append(UnitSide.of(rows, posts, side.stops[begin:end].tolist()))
    return UnitCorpus(*sides)


def _ranges(side: UnitSide) -> list[tuple[int, int]]:
    return [*pairwise(side.ends.tolist())]
