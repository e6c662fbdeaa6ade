"""The cost of the lexical teacher, in epochs of plain training on the same corpus.

    python -m benchmarks.teaching --corpus en-ja train.en train.ja [--corpus NAME SOURCE TARGET]

Processor time of everything that comes before the first taught step (tables, recurring phrase
pairs, all derivations), and of one epoch of plain seq2seq steps with the settings of
``examples/small.yaml``, estimated from steps that are spread over the corpus. One run for both.
Exit code 1 if the bar is missed.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from benchmarks import harness
from btg_seq2seq.derivations.lexical import LexicalTeacher, UnitCorpus
from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext, Collator, EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.length_batches import length_batches
from btg_seq2seq.training.build import build_model
from btg_seq2seq.training.data import build_tokenizer, encode
from btg_seq2seq.training.settings.config import TrainConfig, load_config
from btg_seq2seq.training.teacher import teacher_settings

SETTINGS = Path("examples/small.yaml")
HEADER = ["corpus", "pairs", "teacher", "plain epoch", "epochs", "without derivation"]
BAR = 2.0
EPOCHS = 16  # derivations drawn per sentence pair, as many as a run of this many epochs needs


def epoch_seconds(model: BTGSeq2Seq, data: EncodedBitext, config: TrainConfig, steps: int) -> float:
    """Estimate the processor time of a plain epoch from some of its steps, of all lengths."""
    size = config.optimisation.batch["batch_size"]
    batches = [*length_batches(data.lengths.max(1), lambda count, longest: count <= size)]
    chosen = batches[:: max(1, len(batches) // steps)]
    collate = Collator(model.backbone.pad)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(rows: Sequence[int]) -> None:
        batch = collate([data[row] for row in rows])
        names = ("input_ids", "attention_mask", "labels")
        inputs = {name: batch[name].contiguous() for name in names}
        optimizer.zero_grad()
        model.backbone.model(**inputs, use_cache=False).loss.backward()
        optimizer.step()

    model.train()
    step(chosen[0])  # warms up
    seconds = [harness.timed(partial(step, rows))[1].processor_seconds for rows in chosen]
    return sum(seconds) / len(chosen) * len(batches)


def measure(paths: Sequence[str], steps: int, most: int | None) -> tuple[int, float, float, int]:
    """Pairs, seconds of the teacher and of a plain epoch, pairs without derivation."""
    config = load_config(SETTINGS, [])
    bitext = Bitext.from_files(*paths)
    if most is not None and len(bitext) > most:
        rows = [len(bitext) * row // most for row in range(most)]
        bitext = Bitext([bitext.source[row] for row in rows], [bitext.target[row] for row in rows])
    tokenizer = build_tokenizer(config, bitext)
    model = build_model(config.model, tokenizer)
    frames, units = Frames.of(tokenizer), model.unit_table
    data = encode(bitext, tokenizer, frames, config.data.max_length, "skip", units)
    corpus = unit_corpus(data, tokenizer, units)
    epoch = epoch_seconds(model, data, config, steps)
    settings = teacher_settings(config, model, EPOCHS, len(data))
    # Compiling is not counted: it happens once per machine.
    LexicalTeacher.learn(UnitCorpus.of_text(["a b", "b"], ["c d", "d"]), settings).teach()

    def teach() -> int:
        with tempfile.TemporaryDirectory() as cache:
            teacher = LexicalTeacher.learn(corpus, settings, cache=cache)
            return teacher.teach().without_derivation

    without, timing = harness.timed(teach)
    return len(data), timing.processor_seconds, epoch, without


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("teaching", __doc__)
    parser.add_argument(
        "--corpus",
        nargs=3,
        action="append",
        required=True,
        metavar=("NAME", "SOURCE", "TARGET"),
        help="a bitext; may be given several times",
    )
    parser.add_argument("--steps", type=int, default=20, help="plain steps that are measured")
    parser.add_argument("--pairs", type=int, help="only this many, spread over the corpus")
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "teaching")
    rows, bars = [], []
    for name, *paths in options.corpus:
        pairs, teacher, epoch, without = measure(paths, options.steps, options.pairs)
        ratio = teacher / epoch
        seconds = [f"{each:.0f} s" for each in (teacher, epoch)]
        rows.append([name, f"{pairs:,}", *seconds, f"{ratio:.2f}", f"{without:,}"])
        title = f"{name}: tables and derivations, in plain epochs"
        bars.append(harness.Bar(title, ratio, BAR, "", at_least=False))
    note = (
        "Processor time of the lexical teacher, from the text to all derivations of the training "
        f"set ({EPOCHS} drawn for each pair), and of one plain epoch with the settings of "
        "examples/small.yaml. Pairs that are too long for the teacher get no derivation."
    )
    return harness.Report("teaching", note, HEADER, rows, bars).write(options)


if __name__ == "__main__":
    sys.exit(main())
