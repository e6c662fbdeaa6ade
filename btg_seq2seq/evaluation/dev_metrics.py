"""What training measures on the dev set beside the loss: translations and trees."""

from __future__ import annotations

from dataclasses import replace

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.evaluation.evaluate import parser_accuracy
from btg_seq2seq.evaluation.metrics import text_metrics
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.settings.optimisation import TRANSLATIONS
from btg_seq2seq.translation.translator import Translator


class DevMetrics:
    """BLEU, chrF and exact match of some sentences; where there are gold trees, right trees too."""

    def __init__(self, sentences: int) -> None:
        self.sentences = sentences

    def __call__(
        self, model: BTGSeq2Seq, tokenizer: PreTrainedTokenizerBase, dev: Bitext
    ) -> dict[str, float]:
        """All measures by name, in percent."""
        # Training has read these lines, however long they are.
        translator = Translator(model, tokenizer, replace(model.decoding, max_length=None))
        measures: dict[str, float] = {}
        texts, references = dev.source[: self.sentences], dev.target[: self.sentences]
        if texts:
            results = translator.translate(texts, mode="flat", beam_size=1)
            metrics = text_metrics([result.text for result in results], references)
            measures |= {name: getattr(metrics, name) for name in TRANSLATIONS}
        if dev.trees is not None:
            accuracy = parser_accuracy(translator, dev)
            measures |= {f"{parser}_trees": share for parser, share in accuracy.items()}
        return measures
