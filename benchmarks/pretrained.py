"""Memory and time of fine-tuning the paper's pretrained models, without their weights or a GPU.

    python -m benchmarks.pretrained --markdown docs/reproducing.md

Models of the real shapes are built without memory (torch's meta device). Parameters are counted,
and so is everything that a plain training step keeps for its backward pass. The ratios of other
steps to the plain one are those that ``benchmarks.training`` has measured, from docs/benchmarks.md.
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

MEASURED = Path("docs/benchmarks.md")
GIGABYTE = 1e9
# float32: weights, gradients and AdamW's two averages.
BYTES_PER_PARAMETER = 16
SENTENCES, TOKENS = 32, 32  # batch_tokens: 1024
HEADER = ["model", "parameters", "weights and AdamW", "one plain step"]


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


MODELS: dict[str, Callable[[], Any]] = {
    "mT5-base": mt5_base,
    "mBART (large, cc25)": lambda: mbart_large(250027),
    "mBART-50 (large)": lambda: mbart_large(250054),
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
    header = [*HEADER, *(f"{name}: {measured[name][1]:.1f}x" for name in names)]
    rows, numbers = [], {}
    for name, create in MODELS.items():
        with torch.device("meta"):
            model = create()
        count = sum(each.numel() for each in model.parameters())
        fixed, step = count * BYTES_PER_PARAMETER / GIGABYTE, kept_bytes(model) / GIGABYTE
        totals = [fixed + step * measured[each][1] for each in names]
        numbers[name] = {"parameters": count, "fixed": fixed, "step": step}
        cells = [f"{count / 1e6:.0f} M", f"{fixed:.1f} GB", f"{step:.1f} GB"]
        rows.append([name, *cells, *(f"{total:.0f} GB" for total in totals)])
    times = ", ".join(f"{name} {measured[name][0]:.1f} times" for name in names)
    note = (
        f"A batch of {SENTENCES} sentence pairs of {TOKENS} tokens, float32; bf16 needs less. The "
        "last columns add weights, AdamW and one step of each kind, whose memory is the measured "
        f"multiple of a plain step's. Steps take {times} as long as plain fine-tuning."
    )
    return harness.Report("pretrained", note, header, rows, []).write(options, models=numbers)


if __name__ == "__main__":
    sys.exit(main())
