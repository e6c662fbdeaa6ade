"""The cost of a training step, in plain seq2seq steps of the same backbone and batch.

    python -m benchmarks.training [--hidden 512] [--layers 6] [--batch 32] [--output FILE.json]

Forward and backward, one run, interleaved repetitions, minima. Each estimator stands beside the
floor of the cost model: the encoder and decoder passes that it cannot do without, from the measured
cost of one of each. A batch is computed in parts whose gradients add up, as the trainer does it by
default (``optimisation.parts``), and compared with a plain step in one piece; the paper's step is
also measured in one piece, and the plain one in parts. Exit code 1 if a bar is missed.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks import harness
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED, parts_of
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.loop.taught_batches import TaughtBatches
from btg_seq2seq.training.objective.phases import Step
from btg_seq2seq.training.settings.optimisation import OptimisationConfig

HEADER = ["step", "seconds", "x plain", "floor, x plain", "bar, x plain", "memory, x plain"]
VOCABULARY = 8000
PAPER = ObjectiveSettings(estimator="paper", baseline="self-critical", samples=1)
ROBUST = ObjectiveSettings(estimator="robust")
TAUGHT = ObjectiveSettings(estimator="robust", teacher="lexical")


def passes(encoder: float, decoder: float) -> dict[str, float]:
    """The cost model: seconds that each step must spend in the encoder and the decoder.

    A pass with gradients costs three forward passes. All steps have the flat pass and, except for
    the plain one, the reversed pass; phrases are decoded once, and encoded where they stand alone.
    """
    once = encoder + decoder
    samples = ROBUST.samples * 2 * once  # both directions, without gradients
    sentence, alone = 6 * once + 4 * decoder, 6 * once + 4 * once
    return {
        "plain": 3 * once,
        "plain, in parts": 3 * once,
        "paper, sentence states": sentence,
        "paper, phrases alone": alone,
        "paper, sentence states, in one piece": sentence,
        "paper, phrases alone, in one piece": alone,
        "robust": 3 * once + once + samples + 6 * once,  # no gradient of the reversed pass
        "taught": 3 * once + TAUGHT.taught_share * (once + 6 * once),
    }


BARS = {
    "paper, sentence states": 3.0,
    "paper, phrases alone": 3.6,
    "robust": 6.0,
    "taught": 2.0,
}
IN_ONE_PIECE = ("paper, sentence states, in one piece", "paper, phrases alone, in one piece")
MEMORY = ("plain", "plain, in parts", *BARS, *IN_ONE_PIECE)
MEMORY_RUNS = 3
MEMORY_BARS = dict.fromkeys((name for name in BARS if name.startswith("paper")), 2.0)
PARTS = OptimisationConfig().parts


def make_batch(size: int) -> dict[str, Tensor]:
    """Random tokens with lengths like those of Cherokee-English."""
    random.seed(0)
    torch.manual_seed(0)

    def rows(shortest: int, longest: int, padding: int) -> Tensor:
        lengths = [random.randint(shortest, longest) for _ in range(size)]
        sentences = [
            torch.cat([torch.randint(5, VOCABULARY, (n,)), torch.tensor([1])]) for n in lengths
        ]
        return torch.nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=padding)

    source, target = rows(28, 48, 0), rows(24, 44, -100)
    return {"input_ids": source, "attention_mask": (source != 0).long(), "labels": target}


class EvenDraws:
    """Derivations of a teacher's shape: as many phrases as possible, of about equal length."""

    count = 1

    def __init__(self, batch: dict[str, Tensor], segments: int) -> None:
        self.lengths = torch.stack(
            [batch["attention_mask"].sum(1) - 1, (batch["labels"] != IGNORED).sum(1) - 1], 1
        ).tolist()
        self.segments = segments

    def phrases(self, position: int, draw: int) -> list[tuple[int, ...]]:
        """Phrase pairs in target order."""
        posts = [
            [length * n // self.segments for n in range(self.segments + 1)]
            for length in self.lengths[position]
        ]
        return [(*source, *target) for source, target in zip(*map(pairwise, posts), strict=True)]

    def log_density(self, position: int, draw: int) -> float:
        """Not used by a step that is taught."""
        return 0.0


def make_taught(batch: dict[str, Tensor], segments: int) -> dict[str, Any]:
    """Give a batch the derivations of a teacher, as training does."""
    index = torch.arange(len(batch["labels"]))
    examples = SimpleNamespace(index=index.tolist())
    teach = partial(EvenDraws, batch, segments)
    batches = TaughtBatches(TAUGHT, teach, examples, 1, 0, segments)  # type: ignore[arg-type]
    # The share, rounded up, which single batches only have on average.
    is_cut = index * TAUGHT.taught_share % 1 < TAUGHT.taught_share
    return batches(batch | {"index": index}, 0) | {"flat_only": ~is_cut}


def make_calls(model: BTGSeq2Seq, batch: dict[str, Tensor], bf16: bool) -> dict[str, Any]:
    """Steps by name, and the pieces of which the floor is made."""
    backbone = model.backbone

    tokens = (batch["labels"] != IGNORED).sum()

    def plain(parts: int = 1) -> None:
        model.zero_grad()
        for part in parts_of(batch, parts):
            share = (part["labels"] != IGNORED).sum() / tokens
            part = {name: value.contiguous() for name, value in part.items()}  # T5 wants it so
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                loss = share * backbone.model(**part, use_cache=False).loss
            loss.backward()

    def step(
        settings: ObjectiveSettings,
        encoding: str,
        parts: int = PARTS,
        batch: dict[str, Any] = batch,
    ) -> Callable[[], None]:
        def call() -> None:
            model.zero_grad()
            model.config.phrase_encoding = encoding
            model.objective = BTGObjective(settings)
            model.objective.step = 0
            for part in parts_of(batch, parts):
                with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                    loss = model(**part, num_items_in_batch=tokens).loss
                loss.backward()

        return call

    states = backbone.encode(batch["input_ids"], batch["attention_mask"]).detach()

    @torch.no_grad()
    def encode() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            backbone.encode(batch["input_ids"], batch["attention_mask"])

    @torch.no_grad()
    def decode() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            decoded = backbone.decode_labels(batch["labels"], states, batch["attention_mask"])
            backbone.token_log_probs(decoded, batch["labels"])

    return {
        "encoder": encode,
        "decoder": decode,
        "plain": plain,
        "plain, in parts": partial(plain, PARTS),
        "paper, sentence states": step(PAPER, "sentence"),
        "paper, phrases alone": step(PAPER, "alone"),
        "robust": step(ROBUST, "alone"),
        "taught": step(TAUGHT, "alone", batch=make_taught(batch, model.config.max_segments)),
        "paper, sentence states, in one piece": step(PAPER, "sentence", 1),
        "paper, phrases alone, in one piece": step(PAPER, "alone", 1),
        "dynamic programs and scorers, paper": parsers_only(model, batch, PAPER),
        "dynamic programs and scorers, robust": parsers_only(model, batch, ROBUST),
    }


def parsers_only(
    model: BTGSeq2Seq, batch: dict[str, Tensor], settings: ObjectiveSettings
) -> Callable[[], None]:
    """A step without its seq2seq model: scorers, CRFs, samples, and their gradients."""
    with torch.no_grad():
        pair = model.read(batch["input_ids"], batch["attention_mask"], batch["labels"]).pair
    assert pair is not None
    source, target = pair.source.lengths, pair.target.lengths
    hidden = model.backbone.hidden_size
    over_source = torch.randn(len(source), int(source.max()), hidden)
    over_target = torch.randn(len(target), int(target.max()), hidden)

    estimator = settings.description.create()

    def no_phrases(pair: Pair, pairs: PhrasePairs, *, reverse: bool = False) -> Tensor:
        return torch.zeros(pairs.others.shape[:2])

    def call() -> None:
        model.zero_grad()
        scores = model.scores(pair.source, pair.target, over_source, over_source, over_target)
        scored = Pair(pair.source, pair.target, pair.states, *scores)
        noise = Noise.fresh(len(source), over_source.device)
        with patch.object(model, "phrase_log_probs", no_phrases):
            terms = estimator.terms(model, scored, Step.at(settings, 0), noise)
        torch.autograd.backward(terms.loss.sum())

    return call


def peaks(name: str, sizes: Sequence[str]) -> Iterator[int]:
    """Peak memory of a step in bytes, in several fresh processes: allocators differ by chance."""
    for _ in range(MEMORY_RUNS):
        found = harness.in_fresh_process("benchmarks.training", *sizes, "--memory", name)
        yield int(found["bytes"])


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("training", __doc__)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--segments", type=int, default=3, help="most phrases per sentence")
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--bf16", action="store_true", help="autocast to bfloat16")
    parser.add_argument("--memory", choices=MEMORY, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "training")
    config = default_config(
        VOCABULARY, hidden_size=options.hidden, layers=options.layers, heads=8, dropout=0.0
    )
    model = BTGSeq2Seq.from_backbone(config, max_segments=options.segments)
    model.backbone.add_segment_ids(3, 4)
    model.backbone.choose_attention("cpu")  # as the trainer does
    calls = make_calls(model, make_batch(options.batch), options.bf16)
    if options.memory:
        small = make_calls(model, make_batch(2), options.bf16)
        small[options.memory]()  # compiles, and makes room for gradients
        peak = harness.peak_memory(calls[options.memory])[1]
        print(json.dumps({"bytes": peak}))
        return 0
    timings = harness.interleaved_minima(calls, seconds=0.0, least=options.repetitions)
    seconds = {name: timing.seconds for name, timing in timings.items()}
    floors = passes(seconds["encoder"], seconds["decoder"])
    plain = seconds["plain"]
    rows = []
    for name in calls:
        floor = f"{floors[name] / plain:.2f}" if name in floors else ""
        bar = f"{BARS[name]:.1f}" if name in BARS else ""
        rows.append([name, f"{seconds[name]:.2f}", f"{seconds[name] / plain:.2f}", floor, bar])
    names = ("hidden", "layers", "batch", "segments")
    sizes = [f"--{name}={getattr(options, name)}" for name in names] + ["--bf16"] * options.bf16
    sizes += [f"--threads={torch.get_num_threads()}"]
    memory = {name: min(peaks(name, sizes)) for name in MEMORY}
    for row in rows:
        used = memory.get(row[0])
        row.append("" if used is None else f"{used / memory['plain']:.2f}")
    parsed = {"paper": "paper, sentence states", "robust": "robust"}
    bars = [
        harness.Bar(f"{name}, against a plain step", seconds[name] / plain, bound, "x", False)
        for name, bound in BARS.items()
    ]
    bars += [
        harness.Bar(
            f"{name}, in {PARTS} parts, peak memory against a plain step in one piece",
            memory[name] / memory["plain"],
            bound,
            "x",
            False,
        )
        for name, bound in MEMORY_BARS.items()
    ]
    bars += [
        harness.Bar(
            f"dynamic programs and scorers, of the step ({estimator})",
            100 * seconds[f"dynamic programs and scorers, {estimator}"] / seconds[step],
            10,
            " %",
            False,
        )
        for estimator, step in parsed.items()
    ]
    alike = [
        f"{memory[of] / memory[to]:.1f}x"
        for to, names in (("plain, in parts", MEMORY_BARS), ("plain", IN_ONE_PIECE))
        for of in names
    ]
    note = (
        f"Forward and backward of {options.batch} sentence pairs of about 38 and 34 tokens, T5 "
        f"d = {options.hidden}, {options.layers}+{options.layers} layers, vocabulary {VOCABULARY}, "
        f"up to {options.segments} phrases, {'bfloat16 autocast' if options.bf16 else 'float32'}; "
        f"fastest of {options.repetitions} interleaved calls. No target is short enough to be "
        f"summed over (summed_length: {ROBUST.summed_length}). In the taught step, "
        f"{100 * TAUGHT.taught_share:.0f} % of the sentences are learned cut into phrases as well "
        "as whole. Except for the plain step, and "
        f"unless it says otherwise, a batch is computed in {PARTS} parts, as by default in "
        "training. The floor counts a backward pass as two forward ones, so a step may come out a "
        "bit below it. "
        f"Memory like with like: in parts, the paper's step has {alike[0]} (sentence states) and "
        f"{alike[1]} (phrases alone) that of a plain one; in one piece, {alike[2]} and {alike[3]}."
    )
    report = harness.Report("training", note, HEADER, rows, bars)
    return report.write(options, seconds=seconds, memory=memory)


if __name__ == "__main__":
    sys.exit(main())
