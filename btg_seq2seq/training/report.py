"""Messages of a run before its first step and after its last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.recombine import Tries
from btg_seq2seq.text import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.training.build import describe
from btg_seq2seq.training.data import too_long_for_the_grammar
from btg_seq2seq.training.loop.progress import figures
from btg_seq2seq.training.objective.phases import Phase, first_parser_step, phase_at
from btg_seq2seq.training.settings.config import TrainConfig


def describe_run(
    config: TrainConfig,
    model: BTGSeq2Seq,
    tokens: int,
    frames: Frames,
    data: EncodedBitext,
    dev_data: EncodedBitext | None,
) -> Iterator[str]:
    """Describe model and data, and settings that are probably not meant that way."""
    yield f"model: {describe(model, config.model)}; tokenizer: {tokens:,} tokens"
    if config.model.unused:
        yield f"not used, since the model has its own: {', '.join(config.model.unused)}"
    if config.objective.unused:
        unused = ", ".join(config.objective.unused)
        yield f"not used by the estimator {config.objective.estimator}: {unused}"
    yield f"train: {data.summary()}"
    yield f"dev: {dev_data.summary() if dev_data else 'nothing, so there is no best checkpoint'}"
    limit = config.model.max_grammar_length
    flat = too_long_for_the_grammar(data, frames, limit, model.unit_table)
    if flat:
        yield (
            f"{flat} training pairs have more than max_grammar_length={limit} words on a side "
            "and train flat, without trees"
        )
    yield from _doubts(config)
    yield f"output: {config.output}"


def _doubts(config: TrainConfig) -> Iterator[str]:
    """Name phases in which little will be learned."""
    objective, steps = config.objective, config.optimisation.steps
    is_parsed = phase_at(objective, 0, config.model.max_segments) is Phase.PARSED
    if is_parsed and not (objective.description.needs_gold or config.model.pretrained):
        yield (
            "the parsers learn from the first step, when phrases mean nothing yet, and may settle "
            "on wrong trees: objective.uniform_steps or objective.flat_steps let them wait"
        )
    untaught = first_parser_step(objective)
    if untaught >= steps and config.learns_trees:
        yield (
            f"the parsers wait for {untaught} steps (objective.flat_steps and uniform_steps), but "
            f"there are only {steps}: they learn nothing, and only flat translations make sense"
        )
    start = config.recombination.start
    if start is not None and start >= steps:
        yield f"recombination.start is {start}, but there are {steps} steps: nothing is recombined"


def describe_result(
    steps: Sequence[int], metrics: Mapping[str, float], metric: str, tries: Tries | None
) -> Iterator[str]:
    """Describe the final model: its checkpoints, and its figures on the dev set."""
    chosen = (
        f"the mean of steps {', '.join(map(str, steps))}" if len(steps) > 1 else f"step {steps[0]}"
    )
    yield f"the final model is {chosen}" + (f"  dev  {figures(metrics, metric)}" if metrics else "")
    if tries is not None:
        yield (
            f"recombined sentences: {tries.made:,}, of which {tries.coincidences:,} coincided with "
            "excluded ones and were thrown away"
        )
