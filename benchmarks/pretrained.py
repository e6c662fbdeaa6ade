"""Memory and time of fine-tuning the paper's pretrained models, without their weights or a GPU.

    python -m benchmarks.pretrained --markdown docs/reproducing.md

Models of the real shapes are built without memory (torch's meta device). Parameters are counted,
and so is everything that a plain training step keeps for its backward pass. The ratios of other
steps to the plain one are those that ``benchmarks.training`` has measured, from docs/benchmarks.md.
Hours follow from the operations of all steps and an assumed rate: forward and backward need about 6
operations per parameter and token (Kaplan et al., 2020, arXiv:2001.08361).
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    MBartConfig,
    MBartForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
)

from benchmarks import harness
from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.reproduction.settings import TaskSettings, packaged_config
from btg_seq2seq.tasks.systems import BASELINE, SYSTEMS

MEASURED = Path("docs/benchmarks.md")
GIGABYTE = 1e9
# float32: weights, gradients and AdamW's two averages.
BYTES_PER_PARAMETER = 16
SENTENCES, TOKENS = 32, 32  # batch_tokens: 1024
OPERATIONS = 6  # per parameter and token
RATE = 20e12  # operations per second: less than with large batches, which keep a GPU busier
HEADER = ["model", "parameters", "weights and AdamW", "one plain step", "plain"]


def mt5_base() -> Any:
    config = MT5Config(
        vocab_size=250112,
        d_model=768,
        d_kv=64,
        d_ff=2048,
        num_layers=12,
        num_heads=12,
    )
    model = MT5ForConditionalGeneration(config)
    # The real weights have a head of their own; the library ties that of a new model.
    model.lm_head = torch.nn.Linear(config.d_model, config.vocab_size, bias=False)
    return model


def mbart_large(vocabulary: int) -> Any:
    sizes: dict[str, Any] = {"d_model": 1024, "max_position_embeddings": 1024}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 12, f"{side}_attention_heads": 16, f"{side}_ffn_dim": 4096}
    return MBartForConditionalGeneration(MBartConfig(vocab_size=vocabulary, **sizes))


# Each with a task that it is for.
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "mT5-base": (mt5_base, "ml50/mn-en/mt5"),
    "mBART (large, cc25)": (lambda: mbart_large(250027), "de-en/4978/mbart"),
    "mBART-50 (large)": (lambda: mbart_large(250054), "ml50/mn-en/mbart50"),
}


def kept_bytes(model: Any) -> int:
    """Count the bytes that a training step keeps for its backward pass, weights left out."""
    own = {id(each) for each in model.parameters()}
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        if id(tensor) not in own and not isinstance(tensor, torch.nn.Parameter):
            kept[id(tensor)] = tensor
        return tensor

    tokens = torch.zeros(SENTENCES, TOKENS, dtype=torch.long, device="meta")
    model.train()
    model.set_attn_implementation("eager")  # the others look at values, which are not there
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(input_ids=tokens, labels=tokens).loss
    size = sum(tensor.numel() * tensor.element_size() for tensor in kept.values())
    del loss
    return size


def plain_hours(parameters: int, task: str) -> float:
    """Estimate the training time of the baseline, with the steps and batches of a task's settings.

    As if every parameter saw every token. In truth half of the layers see the source, the others
    the target, and the input embeddings compute nothing.
    """
    settings = TaskSettings(packaged_config(TASKS[task]), TASKS[task].changes)
    chosen = settings.train(SYSTEMS[BASELINE], 0, Path()).optimisation
    assert chosen.batch_tokens is not None, f"{task} has no batch_tokens"
    tokens = chosen.batch_tokens * chosen.accumulate * chosen.steps
    return OPERATIONS * parameters * tokens / RATE / 3600


def ratios(page: str) -> dict[str, tuple[float, float]]:
    """Read time and memory of steps, as multiples of a plain one, from the measured table."""
    table = page.partition("<!-- benchmark:training -->")[2].partition("<!-- /benchmark")[0]
    found = {}
    for row in re.findall(r"^\| (.+) \|$", table, re.MULTILINE):
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 6 and re.fullmatch(r"[\d.]+", cells[5]):
            found[cells[0]] = float(cells[2]), float(cells[5])
    return found


def main() -> int:
    """Compute, print, write."""
    parser = harness.arguments("pretrained", __doc__)
    options = parser.parse_args()
    harness.begin(options, "pretrained")
    measured = ratios(MEASURED.read_text(encoding="utf-8"))
    names = [name for name in ("taught", "paper, sentence states", "robust") if name in measured]
    header = [*HEADER, *names]
    rows, numbers = [], {}
    for name, (create, task) in MODELS.items():
        with torch.device("meta"):
            model = create()
        count = sum(each.numel() for each in model.parameters())
        fixed, step = count * BYTES_PER_PARAMETER / GIGABYTE, kept_bytes(model) / GIGABYTE
        hours = plain_hours(count, task)
        numbers[name] = {"parameters": count, "fixed": fixed, "step": step, "hours": hours}
        cells = [f"{count / 1e6:.0f} M", f"{fixed:.1f} GB", f"{step:.1f} GB"]
        kinds = [(1.0, 1.0), *(measured[each] for each in names)]
        cells += [f"{fixed + step * more:.0f} GB, {hours * longer:.1f} h" for longer, more in kinds]
        rows.append([name, *cells])
    times, memory = (
        "; ".join(f"{name}: {measured[name][which]:.1f} times" for name in names)
        for which in (0, 1)
    )
    note = (
        f"Memory is that of a batch of {SENTENCES} sentence pairs of {TOKENS} tokens in float32; "
        "bf16 needs less. The last columns add weights, AdamW and one step of each kind, and give "
        "the hours of training with the steps and batches of the task's settings. The hours "
        f"assume a sustained rate of {RATE / 1e12:.0f} TFLOP/s (bf16, small batches, a GPU of 24 "
        f"to 40 GB) and {OPERATIONS} operations per parameter and token. Tuning and translating "
        f"come on top. The measured memory of a step is a multiple of a plain one's ({memory}), "
        f"and so is its time ({times})."
    )
    return harness.Report("pretrained", note, header, rows, []).write(options, models=numbers)


if __name__ == "__main__":
    sys.exit(main())
