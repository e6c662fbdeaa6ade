"""What ``btg train`` measures on the dev set beside the loss: translations and trees."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.decoding.translator import Translator
from btg_seq2seq.evaluation.metrics import text_metrics, tree_accuracy
from btg_seq2seq.grammar import Tree
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext, Collator
from btg_seq2seq.training.data import Frames, encode
from btg_seq2seq.training.derivation import Parsers

BATCH = 32


class DevMetrics:
    """BLEU, chrF and exact match of some sentences; where there are gold trees, right trees too."""

    def __init__(self, sentences: int) -> None:
        self.sentences = sentences

    def __call__(
        self, model: BTGSeq2Seq, tokenizer: PreTrainedTokenizerBase, dev: Bitext
    ) -> dict[str, float]:
        """All measures by name, in percent."""
        measures: dict[str, float] = {}
        texts, references = dev.source[: self.sentences], dev.target[: self.sentences]
        if texts:
            results = Translator(model, tokenizer).translate(texts, mode="flat", beam_size=1)
            metrics = text_metrics([result.text for result in results], references)
            measures |= {"bleu": metrics.bleu, "chrf": metrics.chrf}
            measures["exact_match"] = metrics.exact_match
        if dev.trees is not None:
            rows = list(best_trees(model, tokenizer, dev))
            for parser, trees in zip(("posterior", "prior"), zip(*rows, strict=True), strict=False):
                measures[f"{parser}_trees"] = tree_accuracy(trees, [row[2] for row in rows])
        return measures


def best_trees(
    model: BTGSeq2Seq, tokenizer: PreTrainedTokenizerBase, dev: Bitext
) -> Iterator[tuple[Tree, Tree, Tree]]:
    """The trees of posterior, prior and gold, of all sentences that the grammar holds."""
    data = encode(dev, tokenizer, Frames.of(tokenizer), None, "keep")
    collate = Collator(model.backbone.pad)
    for first in range(0, len(data), BATCH):
        batch = collate([data[row] for row in range(first, min(first + BATCH, len(data)))])
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
        reading = model.read(**{name: each.to(model.device) for name, each in inputs.items()})
        if reading.pair is None:
            continue
        gold = [Tree.parse(batch["trees"][row]) for row in reading.rows.tolist()]
        segments = torch.tensor([tree.segments for tree in gold], device=model.device)
        parsers = Parsers.of(model, reading.pair, segments)
        yield from zip(parsers.posterior.argmax, parsers.prior.argmax, gold, strict=True)
