"""Regularisation of a model in training: dropout of several kinds and label smoothing.

Everything here acts in training mode only. It leaves no trace in a saved model, so it is applied
again when a run is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.dropout import use_cpu_dropout
from btg_seq2seq.training.settings.config import TrainConfig


def regularise(model: BTGSeq2Seq, config: TrainConfig, special: Iterable[int]) -> None:
    """Apply the settings of a run; ``special`` tokens are never dropped from the input."""
    backbone, settings = model.backbone, config.model
    backbone.label_smoothing = config.optimisation.label_smoothing
    backbone.family.drop_attention(backbone.model, settings.attention_dropout)
    backbone.family.drop_activations(backbone.model, settings.activation_dropout)
    use_cpu_dropout(backbone.model)
    if settings.word_dropout:
        dropout = WordDropout(settings.word_dropout, special)
        whole = backbone.model
        # In some families these are one module, in others three with the same weights.
        for module in {part.get_input_embeddings() for part in (whole, *_stacks(whole))}:
            module.register_forward_hook(dropout)


def _stacks(model: Any) -> tuple[Any, Any]:
    return model.get_encoder(), model.get_decoder()


class WordDropout:
    """Replaces the embeddings of tokens by zeros, whole tokens at a time.

    A hook of the embeddings of encoder and decoder. So it acts on what they read, source
    and target, whole sentences and phrases, and not on the labels. Random numbers are torch's own,
    as for dropout.
    """

    def __init__(self, share: float, special: Iterable[int]) -> None:
        self.share = share
        self.special = torch.tensor(sorted(special))

    def __call__(self, module: nn.Module, inputs: tuple[Any, ...], embedded: Tensor) -> Tensor:
        if not module.training:
            return embedded
        tokens: Tensor = inputs[0]  # [batch, length]
        is_kept = torch.rand(tokens.shape, device=tokens.device) >= self.share
        is_kept |= torch.isin(tokens, self.special.to(tokens.device))
        return embedded * is_kept[..., None]
