"""The lexical teacher of a run: its derivations of the training set, in the model's own units."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase, Seq2SeqTrainingArguments

from btg_seq2seq.derivations.lexical import (
    LexicalSettings,
    LexicalTeacher,
    TaughtCorpus,
    WordTables,
)
from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import EncodedBitext
from btg_seq2seq.training.loop.taught_batches import TaughtBatches
from btg_seq2seq.training.settings.config import TrainConfig

FOLDER = "teacher"  # in the directory of a run: tables and derivations, for when it is resumed


# Derivations are drawn for every epoch; but of a run of very many epochs, no more than these, which
# the epochs behind them use again.
MOST_DRAWN, ENOUGH_DRAWS = 2**20, 32  # of the whole corpus, of a sentence pair


def teacher_settings(
    config: TrainConfig, model: BTGSeq2Seq, epochs: int, pairs: int
) -> LexicalSettings:
    """Settings of the teacher of a run: derivations that the model's parsers can express."""
    return LexicalSettings(
        max_segments=model.config.max_segments,
        max_phrase_length=model.config.max_phrase_length,
        max_units=min(model.config.max_grammar_length, LexicalSettings.max_units),
        drawn_rate=config.objective.segment_rate,
        draws=min(epochs, max(ENOUGH_DRAWS, MOST_DRAWN // max(pairs, 1))),
        seed=config.seed,
    )


def taught_batches(
    config: TrainConfig,
    arguments: Seq2SeqTrainingArguments,
    model: BTGSeq2Seq,
    tokenizer: PreTrainedTokenizerBase,
    data: EncodedBitext,
    say: Callable[[str], None],
    track: Any,
) -> TaughtBatches | None:
    """Build the source of taught derivations, if the settings ask for a teacher."""
    objective, batch = config.objective, config.optimisation.batch
    if not objective.has_teacher or not config.learns_trees:
        return None
    (name, size), *_ = batch.items()
    total = len(data) if name == "batch_size" else int(data.lengths.max(1).sum())
    accumulated = arguments.gradient_accumulation_steps
    updates_per_epoch = max(1, math.ceil(math.ceil(total / size) / accumulated))
    epochs = math.ceil(config.optimisation.steps / updates_per_epoch)

    settings = teacher_settings(config, model, epochs, len(data))

    def teach() -> TaughtCorpus:
        with arguments.main_process_first(local=False):  # the others read what it has kept
            teacher = LexicalTeacher.learn(
                unit_corpus(data, tokenizer, model.unit_table),
                settings,
                threads=config.threads or os.cpu_count() or 1,
                cache=Path(config.output) / FOLDER,
                track=track,
            )
            taught = teacher.teach(track)
        if taught.without_derivation:
            say(
                f"the teacher has no derivations of {taught.without_derivation} training pairs, "
                f"which have more than {settings.max_units} words on a side: they are learned "
                "whole while it teaches"
            )
        return taught

    segments = model.config.max_segments
    return TaughtBatches(objective, teach, data, updates_per_epoch, config.seed, segments)


def word_tables(
    model: BTGSeq2Seq, tokenizer: PreTrainedTokenizerBase, data: EncodedBitext
) -> WordTables:
    """Estimate translation tables of tokens, to be saved with the model for its translations."""
    corpus = unit_corpus(data, tokenizer, model.unit_table, in_tokens=True)
    return WordTables.estimate(corpus, LexicalSettings.table_iterations)
