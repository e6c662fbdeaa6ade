"""Derivations for recombination without a model: those of the lexical teacher."""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.lexical import LexicalSettings, LexicalTeacher
from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import unit_table


def lexical_derivations(
    examples: EncodedBitext,
    tokenizer: PreTrainedTokenizerBase,
    settings: LexicalSettings | None = None,
    *,
    threads: int = 1,
    track: Track = untracked,
) -> DerivationCorpus:
    """Find the most probable derivation of each sentence pair, in units of the tokenizer."""
    frames = Frames.of(tokenizer)
    corpus = unit_corpus(examples, tokenizer, unit_table(tokenizer))
    settings = settings or LexicalSettings(draws=0)
    teacher = LexicalTeacher.learn(corpus, settings, threads=threads, track=track)
    taught = teacher.teach(track)
    best = map(taught.best_derivation, range(len(examples)))
    return DerivationCorpus.of(best, len(frames.source.prefix))
