"""Beams that share a source: the decoder attends to it once per sentence, not once per beam.

Hugging Face's models have one row of keys and values per row of the decoder. In beam search, all
beams of a row attend to the same source. So the decoder's attention to the source gets the beams of
a row side by side, as if they were the tokens of one row, and needs no copies of the source.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache

from btg_seq2seq.errors import UserError


class SharedSourceCache(EncoderDecoderCache):
    """Keys and values: of each beam for its own tokens, of each row for its source.

    ``beam`` is the number of rows of the decoder, one behind the other, that share a source.
    """

    def __init__(self) -> None:
        super().__init__(DynamicCache(), DynamicCache())
        self.beam = 1

    def keep_sources(self, rows: Tensor, longest: int) -> None:
        """Keep the sources of these rows, and of each the first tokens."""
        layers: Any = self.cross_attention_cache.layers
        for layer in layers:
            layer.keys = layer.keys[:, :, :longest].index_select(0, rows)
            layer.values = layer.values[:, :, :longest].index_select(0, rows)

    def reorder_beams(self, places: Tensor, beam: int) -> None:
        """Make these rows of the decoder its next ones, ``beam`` for each source."""
        self.self_attention_cache.reorder_cache(places)  # type: ignore[arg-type]
        self.beam = beam


def share_sources(model: nn.Module, name: str) -> None:
    """Let the decoder's attention to the source, of this name, share sources in beam search.

    Without a ``SharedSourceCache``, nothing changes.
    """
    attentions = [module for path, module in model.named_modules() if path.endswith(f".{name}")]
    if not attentions:
        raise UserError(
            f"no module of this {type(model).__name__} is named {name}: set cross_attention of its "
            "family to the name of the decoder's attention to the source"
        )
    for attention in attentions:
        attention.register_forward_pre_hook(_join_beams, with_kwargs=True)
        attention.register_forward_hook(_part_beams, with_kwargs=True)


def _beam(options: dict[str, Any]) -> int:
    cache = options.get("past_key_values")
    return cache.beam if isinstance(cache, SharedSourceCache) else 1


def _join_beams(
    attention: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """``[rows beam, 1, hidden]`` to ``[rows, beam, hidden]``."""
    beam = _beam(options)
    if beam == 1:
        return None
    if inputs:
        first, *rest = inputs
        return (first.view(-1, beam, first.shape[-1]), *rest), options
    hidden = options["hidden_states"]
    return inputs, {**options, "hidden_states": hidden.view(-1, beam, hidden.shape[-1])}


def _part_beams(
    attention: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any], outputs: Any
) -> Any:
    """``[rows, beam, hidden]`` to ``[rows beam, 1, hidden]``."""
    if _beam(options) == 1:
        return outputs
    hidden, *rest = outputs
    return hidden.reshape(-1, 1, hidden.shape[-1]), *rest
