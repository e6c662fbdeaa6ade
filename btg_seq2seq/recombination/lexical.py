"""Recombination without a model: phrases are those of the lexical teacher."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.lexical import LexicalSettings, LexicalTeacher
from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.recombination.augment import augment
from btg_seq2seq.recombination.recombine import Recombiner
from btg_seq2seq.recombination.settings import RecombinationSettings
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import unit_table
from btg_seq2seq.text.words import half_character

SUBWORDS = 4000  # of a tokenizer for the bitext alone: pieces, where there are no spaces


def recombine(
    sources: Sequence[str],
    targets: Sequence[str],
    count: int | None = None,
    *,
    settings: RecombinationSettings | None = None,
    exclude: Collection[str] = (),
    seed: int = 0,
    threads: int = 1,
    track: Track = untracked,
) -> list[tuple[str, str]]:
    """Make new sentence pairs by swapping aligned phrases of a bitext, without a model.

    Args:
        sources, targets: the bitext, line by line.
        count: most pairs, by default as many as are given. There may be fewer.
        settings: settings of recombination.
        exclude: sources that must not be made, such as those of test sets.
        seed: seed of all random choices.
        threads: threads that share the search for phrases.
        track: iterates over parts of the work and shows the progress.
    """
    if isinstance(sources, str) or isinstance(targets, str):
        raise UserError("sources and targets must be lists of sentences, not one string")
    if len(sources) != len(targets):
        raise UserError(f"{len(sources)} sources but {len(targets)} targets")
    for sentence, pair in enumerate(zip(sources, targets, strict=True)):
        if half := half_character("".join(pair)):
            raise SentenceError(sentence, f"it has half a character, {half}")
    bitext = Bitext([*sources], [*targets])
    examples, tokenizer = encoded(bitext)
    derivations = lexical_derivations(examples, tokenizer, threads=threads, track=track)
    settings = settings or RecombinationSettings()
    units = unit_table(tokenizer)
    recombiner = Recombiner.of_text(derivations, examples, tokenizer, settings, [*exclude], units)
    return augment(recombiner, tokenizer, len(bitext) if count is None else count, seed).pairs


def encoded(bitext: Bitext) -> tuple[EncodedBitext, PreTrainedTokenizerBase]:
    """Encode a bitext with a tokenizer that is trained on it."""
    tokenizer = train_tokenizer("bpe", [*bitext.source, *bitext.target], SUBWORDS)
    return encode_bitext(bitext, tokenizer), tokenizer


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
