"""Measures of the dev set during training, beside the loss: every metric of the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.evaluation.evaluate import parser_scores
from btg_seq2seq.evaluation.metrics import CKY, MetricOptions, check_options, text_scores
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.translator import Translator


class DevMetrics:
    """Metrics of the first dev sentences, translated flat and greedily, and of gold trees.

    Args:
        sentences: number of dev sentences to translate; 0 disables translation.
        bleu_tokenizer: sacreBLEU's tokenizer; ``None`` chooses it by the references' script.
        modes: of translation. Names of the metrics of cky begin with ``cky_``. It is measured once
            the parsers have learned, with the decoding settings of the model.
    """

    def __init__(
        self,
        sentences: int,
        bleu_tokenizer: str | None = None,
        modes: Sequence[Literal["flat", "cky"]] = ("flat",),
    ) -> None:
        self.sentences, self.modes = sentences, modes
        self.options = MetricOptions(bleu_tokenizer)
        check_options(self.options)

    def __call__(
        self, model: BTGSeq2Seq, tokenizer: PreTrainedTokenizerBase, dev: Bitext
    ) -> dict[str, float]:
        """Measure a model; all measures by name, such as ``bleu`` and ``posterior_trees``."""
        # Training has read these lines, however long they are.
        translator = Translator(model, tokenizer, replace(model.decoding, max_length=None))
        measures: dict[str, float] = {}
        texts, references = dev.source[: self.sentences], dev.target[: self.sentences]
        for mode in self.modes if texts else ():
            if mode == "cky" and not model.config.parsers_learned:
                continue
            settings: dict[str, Any] = {"beam_size": 1} if mode == "flat" else {}
            results = translator.translate(texts, mode, **settings)
            scores = text_scores([result.text for result in results], references, self.options)
            prefix = CKY if mode == "cky" else ""
            measures |= {prefix + name: score.value for name, score in scores.items()}
        if dev.trees is not None:
            for metric, by_parser in parser_scores(translator, dev).items():
                measures |= {f"{parser}_{metric}": value for parser, value in by_parser.items()}
        return measures
