"""Phrase pairs first, then sentences: the pretraining of the baselines with phrase pairs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from btg_seq2seq.tasks.reproduction.settings import PRETRAINING
from btg_seq2seq.tasks.reproduction.stopwatch import Stopwatch
from btg_seq2seq.tasks.systems import PhrasePairs
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.data import Bitexts, build_tokenizer
from btg_seq2seq.training.phrase_pairs.bitext import LONGEST, phrase_bitext
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import TokenizerConfig, TrainConfig

TOKENIZER = "tokenizer"


def pretrain(
    config: TrainConfig,
    method: PhrasePairs,
    sentences: Bitext,
    watch: Stopwatch,
    *,
    quiet: bool,
    say: Callable[[str], None],
) -> int:
    """Train a model on the phrase pairs of a bitext; return the number of pairs.

    The tokenizer is that of the sentences, so that phrases are cut into the same tokens. Phrases
    may be as long as those of the systems with a grammar.
    """
    directory = Path(config.output)
    with watch.stage(PRETRAINING) as lap:
        longest = config.model.max_phrase_length or LONGEST
        pairs = phrase_bitext(sentences, method, config.model.max_segments, config.seed, longest)
        say(f"{len(pairs):,} phrase pairs of {len(sentences):,} sentence pairs")
        if config.model.pretrained is None and config.tokenizer.path is None:
            path = directory.parent / TOKENIZER
            if not path.exists():
                _save_tokenizer(config, sentences, path)
            own = replace(config.tokenizer, kind=None, path=str(path))
            config = replace(config, tokenizer=own)
        train(
            config,
            bitexts=Bitexts(pairs),
            callbacks=[lap],
            resume=True,
            quiet=quiet,
        )
    return len(pairs)


def continued(config: TrainConfig, pretrained: Path) -> TrainConfig:
    """Settings of the training that follows: weights and tokenizer are the pretrained ones."""
    model = replace(config.model, init_from=str(pretrained), backbone=None)
    tokenizer = TokenizerConfig(
        bpe_dropout=config.tokenizer.bpe_dropout, unigram_alpha=config.tokenizer.unigram_alpha
    )
    return replace(config, model=model, tokenizer=tokenizer)


def _save_tokenizer(config: TrainConfig, sentences: Bitext, path: Path) -> None:
    """Write a tokenizer; it is there completely or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    build_tokenizer(config, sentences).save_pretrained(str(unfinished))
    shutil.rmtree(path, ignore_errors=True)
    unfinished.rename(path)
