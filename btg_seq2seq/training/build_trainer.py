"""From settings and texts to a trainer: tokenizer, model, encoded data, recombination."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped]
from torch import Tensor
from transformers import PreTrainedTokenizerBase, Seq2SeqTrainingArguments, set_seed

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.batches import RecombinedBatches
from btg_seq2seq.recombination.collect import Track
from btg_seq2seq.recombination.recombine import HeldOut
from btg_seq2seq.text import EncodedBitext, load_tokenizer
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.gold_trees import gold_trees
from btg_seq2seq.text.subword_sampling import subword_sampler
from btg_seq2seq.text.units import word_joins
from btg_seq2seq.training.build import build_model
from btg_seq2seq.training.data import (
    Bitexts,
    build_tokenizer,
    encode,
    encoded_pairs,
    length_limit,
    set_languages,
)
from btg_seq2seq.training.loop.sampled_batches import SampledBatches
from btg_seq2seq.training.loop.taught_batches import TaughtBatches
from btg_seq2seq.training.loop.trainer import BTGTrainer, Metrics
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.regularise import regularise
from btg_seq2seq.training.report import describe_run
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.training.teacher import taught_batches


def build_trainer(
    config: TrainConfig,
    arguments: Seq2SeqTrainingArguments,
    bitexts: Bitexts,
    metrics: Metrics | None,
    last: Path | None,
    say: Callable[[str], None],
    track: Track,
) -> BTGTrainer:
    """Build the trainer of a run, resumed from the checkpoint ``last`` if there is one."""
    check_data(config, bitexts)
    set_seed(config.seed)
    if last is None:
        is_first = arguments.process_index == 0  # trained in each process, it could differ a bit
        tokenizer = build_tokenizer(config, bitexts.train) if is_first else None
        tokenizer = broadcast_object_list([tokenizer])[0]
        model = build_model(config.model, tokenizer)
    else:  # the pretrained model is no longer needed
        tokenizer = load_tokenizer(last)
        set_languages(tokenizer, config.model.source_language, config.model.target_language)
        model = BTGSeq2Seq.from_pretrained(last, verify=False)  # all of it was verified
        model.backbone.check_tokenizer(tokenizer, last)
    model.objective = BTGObjective(config.objective, config.seed)
    model.decoding = config.decoding.settings
    regularise(model, config, tokenizer.all_special_ids)
    frames = Frames.of(tokenizer)
    longest = model.backbone.family.longest(model.backbone.model.config)
    limit, on_too_long = length_limit(config.data, longest)
    units = model.unit_table
    data = encode(bitexts.train, tokenizer, frames, limit, on_too_long, units)
    dev, dev_data = bitexts.dev, None
    if dev is not None:
        if dev.trees is not None and dev.segmentations is None:
            gold_trees(tokenizer, dev, units)  # raises now an error of a later evaluation
        dev_data = encode(dev, tokenizer, frames, longest, "skip", units)
        dev = encoded_pairs(dev, dev_data)
    taught = taught_batches(config, arguments, model, tokenizer, data, say, track)
    for line in describe_run(config, model, len(tokenizer), frames, data, dev_data):
        say(line)
    return BTGTrainer(
        model,
        arguments,
        config.optimisation,
        tokenizer,
        data,
        dev_data=dev_data,
        dev=dev,
        metrics=metrics,
        recombined=recombined_batches(
            config, arguments, tokenizer, bitexts, data, track, units, taught
        ),
        taught=taught,
        sampled=sampled_batches(config, tokenizer, frames, data, units),
    )


def check_data(config: TrainConfig, bitexts: Bitexts) -> None:
    """Refuse texts that lack something the settings need."""
    name, needs_gold = config.objective.estimator, config.objective.description.needs_gold
    has_gold = bitexts.train.segmentations is not None
    if needs_gold and not has_gold:
        raise UserError(
            f"the estimator {name} learns from given derivations: set data.train_trees and "
            "data.train_segmentations"
        )
    if has_gold and not needs_gold:
        raise UserError(
            f"the estimator {name} does not learn from data.train_trees and "
            "data.train_segmentations: remove them, or choose another objective.estimator"
        )
    if config.optimisation.patience is not None and bitexts.dev is None:
        raise UserError(
            "optimisation.patience needs a dev set: give data.dev_source and data.dev_target, or "
            "set it to null"
        )


def recombined_batches(
    config: TrainConfig,
    arguments: Seq2SeqTrainingArguments,
    tokenizer: PreTrainedTokenizerBase,
    bitexts: Bitexts,
    data: EncodedBitext,
    track: Track,
    unit_table: Tensor | None,
    taught: TaughtBatches | None,
) -> RecombinedBatches | None:
    """Build the source of recombined sentences, if the settings ask for it."""
    if config.recombination.start is None:
        return None
    teach = None
    if config.recombination.found_by == "teacher" and taught is not None:
        teach = partial(taught.finest, len(Frames.of(tokenizer).source.prefix))
    held_out = [*bitexts.excluded, *(bitexts.dev.source if bitexts.dev else [])]
    return RecombinedBatches(
        config.recombination,
        data,
        HeldOut(held_out, tokenizer),
        word_joins(tokenizer),
        tokenizer.pad_token_id,
        config.seed,
        config.optimisation.batch,
        config.objective.boundary_threshold,
        arguments.gradient_accumulation_steps,
        arguments.world_size,
        arguments.process_index,
        track,
        unit_table,
        teach,
    )


def sampled_batches(
    config: TrainConfig,
    tokenizer: PreTrainedTokenizerBase,
    frames: Frames,
    data: EncodedBitext,
    unit_table: Tensor | None,
) -> SampledBatches | None:
    """Build what draws the tokens of training sentences, if the settings ask for it."""
    settings = config.tokenizer
    sampler = subword_sampler(tokenizer, settings.bpe_dropout, settings.unigram_alpha)
    if sampler is None:
        return None
    pad: int = tokenizer.pad_token_id
    return SampledBatches(sampler, frames, unit_table, pad, config.seed, data.max_length)
