"""Any Hugging Face encoder-decoder, as the rest of the system sees it.

The paper's seq2seq, which translates phrases of every size: encoding, teacher-forced decoding under
any mask, token probabilities. ``vocabulary.py`` knows its special tokens; ``families.py`` holds
what differs between families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint
from transformers import (
    EncoderDecoderCache,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.families import load_pretrained, random_model
from btg_seq2seq.model.vocabulary import Vocabulary
from btg_seq2seq.text.batches import IGNORED

# Up to this many logits (256 MB) are kept for the gradient. Where there are more, they are computed
# again for it in pieces of the second size, which takes less memory and more time.
KEPT_LOGITS = 2**26
PIECE_OF_LOGITS = 2**24


class _LabelLogProbs(torch.autograd.Function):
    """Log-probability of labels, with the gradient of the label-smoothed log-probability.

    Smoothing moves a share of the mass from the label to the uniform distribution over the
    vocabulary. Only the gradient shows it: values stay log-probabilities, so that rewards, weights
    and reports are never smoothed. Forward and backward need one ``[tokens, vocabulary]`` tensor
    each.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        log_probs = logits.log_softmax(-1)  # [tokens, vocabulary]
        ctx.save_for_backward(log_probs, targets)
        ctx.smoothing = smoothing
        return log_probs.gather(1, targets[:, None])[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        # d/dlogits ((1 - s) log p(label) + s mean log p) = (1 - s) onehot + s / V - softmax
        log_probs, targets = ctx.saved_tensors
        own, share = gradient[:, None], ctx.smoothing
        result = log_probs.exp().mul_(-own)
        result.scatter_add_(1, targets[:, None], (1 - share) * own)
        if share:
            result.add_(share / result.shape[1] * own)
        return result, None, None


class Backbone(Vocabulary):
    """A sequence-to-sequence model: ``model`` is Hugging Face's, ``family`` says how to use it.

    ``label_smoothing``: share of the probability that training moves from a label to all tokens
    alike. It changes gradients in training mode and nothing else.
    """

    label_smoothing = 0.0

    @classmethod
    def load(
        cls,
        source: str | PathLike[str] | PreTrainedConfig | PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> Backbone:
        """From a model, a configuration (random weights), a directory or a name on the hub.

        Weights are kept in float32 unless said otherwise: half precision loses small updates, and
        autocast gives its speed. A model is taken as it is. With a tokenizer, see ``resize``.
        """
        if isinstance(source, PreTrainedModel):
            model: Any = source
        elif isinstance(source, PreTrainedConfig):
            model = random_model(source, dtype)
        else:
            model = load_pretrained(source, dtype)
        backbone = cls(model)
        if not isinstance(source, PreTrainedConfig):
            backbone.keep_untied()
        if tokenizer is not None:
            backbone.resize(tokenizer)
        return backbone

    @property
    def all_tied_weights_keys(self) -> dict[str, str]:
        """The names of weights that share a tensor, for a ``PreTrainedModel`` around this backbone.

        Hugging Face asks the children of a model for it, and saves a tied weight once.
        """
        tied: dict[str, str] = self.model.all_tied_weights_keys
        return {f"model.{copy}": f"model.{original}" for copy, original in tied.items()}

    def choose_attention(self, device: torch.device | str) -> None:
        """Use the attention that learns fastest on a device.

        No fused kernel of the CPU gives the gradient of relative positions: what runs in its place
        is slower than plain matrix products.
        """
        if self.family.relative_positions and torch.device(device).type == "cpu":
            self.model.set_attn_implementation("eager")

    # ---- states and probabilities -------------------------------------------------------------

    def encode(
        self, input_ids: Tensor, attention_mask: Tensor, phrase_ends: Tensor | None = None
    ) -> Tensor:
        """States of the source: ``[batch, length, hidden]``.

        ``attention_mask``: which tokens are real, ``[batch, length]``; or, boolean, which key each
        query may look at, ``[batch, length, length]``: so the phrases of a row can be kept from
        seeing each other. If ``family.relative_positions``, each then has exactly the states it
        has in a row of its own; other families still number its tokens from the start of the row,
        so give them a row a phrase.

        ``phrase_ends``: ``[batch, length]``, which tokens are the last of a phrase; to these the
        embedding of the segment end is added. Without it, where only distances between tokens
        count, a word and the same word twice have the same states.
        """
        self._check_length(input_ids)
        mask = self._mask(attention_mask, input_ids.shape[1], input_ids.shape, "attention_mask")
        inputs = {"input_ids": input_ids}
        if phrase_ends is not None:
            embedding = self.model.get_input_embeddings()
            end = embedding(torch.full_like(input_ids[:1, :1], self.segment_end))
            inputs = {"inputs_embeds": embedding(input_ids) + phrase_ends[..., None] * end}
        output = self.model.get_encoder()(**inputs, attention_mask=mask)
        states: Tensor = output.last_hidden_state
        return states

    def decode(
        self,
        decoder_input_ids: Tensor,
        encoder_states: Tensor,
        cross_mask: Tensor,
        self_mask: Tensor | None = None,
    ) -> Tensor:
        """States of the decoder, each before the next token: ``[batch, target, hidden]``.

        ``cross_mask``: ``[batch, source]``, or boolean ``[batch, target, source]``. ``self_mask``:
        nothing for the usual causal one, or boolean ``[batch, target, target]``, used as it is: so
        many phrases can be packed into a row, with no difference to rows of their own if positions
        are relative (see ``encode``). A query that may look at nothing, as in padding, gets states
        that are finite and mean nothing.
        """
        self._check_length(decoder_input_ids)
        shape, sources = decoder_input_ids.shape, encoder_states.shape[1]
        output = self.model.get_decoder()(
            input_ids=decoder_input_ids,
            attention_mask=None
            if self_mask is None
            else self._mask(self_mask, shape[1], shape, "self_mask", rows=False),
            encoder_hidden_states=encoder_states,
            encoder_attention_mask=self._mask(cross_mask, sources, shape, "cross_mask"),
            use_cache=False,
        )
        states: Tensor = output.last_hidden_state
        return states

    def next_logits(
        self,
        tokens: Tensor,
        encoder_states: Tensor,
        source_mask: Tensor,
        cache: EncoderDecoderCache,
    ) -> Tensor:
        """Scores of what follows ``tokens`` and all that the cache has: ``[rows, vocabulary]``.

        ``tokens``: ``[rows, new]``. With a ``SharedSourceCache``, there are as many states and
        masks, ``[sources, ...]``, as sources.
        """
        output = self.model.get_decoder()(
            input_ids=tokens,
            encoder_hidden_states=encoder_states,
            encoder_attention_mask=source_mask,
            past_key_values=cache,
            use_cache=True,
        )
        return self.logits(output.last_hidden_state[:, -1])

    def decode_labels(
        self,
        labels: Tensor,
        encoder_states: Tensor,
        cross_mask: Tensor,
        prompt: int | Sequence[int] | None = None,
    ) -> Tensor:
        """States that predict each of ``labels``: ``[batch, target, hidden]``.

        ``prompt`` is ``sentence_prompt()`` unless given. Labels hold no part of it.
        """
        inputs = self.shift_right(labels, self.sentence_prompt() if prompt is None else prompt)
        states = self.decode(inputs, encoder_states, cross_mask)
        return states[:, inputs.shape[1] - labels.shape[1] :]

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token before the softmax: ``[..., hidden]`` to ``[..., vocabulary]``."""
        return self.family.logits(self.model, hidden)

    def token_log_probs(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """Log probability of each label: ``[..., hidden]`` and ``[...]`` to ``[...]``.

        At least float32, under autocast too. Zero where the label is ``IGNORED``; such positions
        cost nothing.
        """
        chosen = labels != IGNORED
        states, targets = hidden[chosen], labels[chosen]  # [tokens, hidden], [tokens]
        recompute = torch.is_grad_enabled() and len(targets) * self.vocabulary_size > KEPT_LOGITS
        size = max(1, (PIECE_OF_LOGITS if recompute else KEPT_LOGITS) // self.vocabulary_size)
        log_probs: Callable[[Tensor, Tensor], Tensor] = self._log_probs
        if recompute:  # there is no dropout in a head, so no random state to keep
            log_probs = partial(
                checkpoint, self._log_probs, use_reentrant=False, preserve_rng_state=False
            )
        pieces = zip(torch.split(states, size), torch.split(targets, size), strict=True)
        known = torch.cat([log_probs(*piece) for piece in pieces])  # [tokens]
        return known.new_zeros(labels.shape).masked_scatter(chosen, known)

    def prefix_log_probs(self, hidden: Tensor, labels: Tensor, end: int) -> Tensor:
        """Log probability of each prefix of ``labels`` and then ``end``: ``[rows, width]``.

        ``hidden`` is ``[rows, width + 1, hidden]``, the states that predict each label and what
        follows the last one; ``labels`` are ``[rows, width]``.
        """
        rows = max(1, KEPT_LOGITS // (self.vocabulary_size * hidden.shape[1]))
        prefixes = []
        for states, own in zip(torch.split(hidden, rows), torch.split(labels, rows), strict=True):
            logits = self.logits(states)
            log_probs = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
            sums = log_probs[:, :-1].gather(2, own[..., None])[..., 0].cumsum(1)
            prefixes.append(sums + log_probs[:, 1:, end])
        return torch.cat(prefixes)

    def _log_probs(self, states: Tensor, targets: Tensor) -> Tensor:
        logits = self.logits(states)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        smoothing = self.label_smoothing if self.training else 0.0
        log_probs: Tensor = _LabelLogProbs.apply(logits, targets, smoothing)  # type: ignore[no-untyped-call]
        return log_probs

    def generate(self, input_ids: Tensor, attention_mask: Tensor, **options: Any) -> Any:
        """The model's own ``generate`` for whole sentences: no hypothesis has a segment token.

        ``options`` go to the model. Sequences begin with the prompt.
        """
        unwanted = options.pop("suppress_tokens", None)
        if unwanted is None:
            unwanted = self.model.generation_config.suppress_tokens
        unwanted = {*(unwanted or ()), *(self._segment_tokens() if self.has_segment_tokens else ())}
        if self.prefix:
            options.setdefault("forced_bos_token_id", self.prefix[0])
        options.setdefault("decoder_start_token_id", self.sentence_start)
        return self.model.generate(
            input_ids=input_ids,
            attention_mask=attention_mask,
            suppress_tokens=sorted(unwanted) or None,
            **options,
        )

    # ---- checks and masks ---------------------------------------------------------------------

    def _check_length(self, tokens: Tensor) -> None:
        longest = self.family.longest(self.model.config)
        if longest is not None and tokens.shape[1] > longest:
            raise UserError(
                f"a row of {tokens.shape[1]} tokens, but this {self.model.config.model_type} has "
                f"{longest} positions: limit the length of sentences to that, or take a model "
                "with relative positions"
            )

    def _mask(
        self, mask: Tensor, keys: int, shape: torch.Size, name: str, *, rows: bool = True
    ) -> Tensor:
        """A mask as the attention in use wants it. ``shape`` is that of the queries."""
        batch, queries = shape
        if rows and mask.shape == (batch, keys):
            mask = mask.bool()
            return mask | ~mask.any(-1, keepdim=True)
        if mask.dim() != 3 or mask.shape[1:] != (queries, keys) or mask.shape[0] not in (1, batch):
            wanted = f"[{batch}, {keys}] or " if rows else ""
            raise ValueError(
                f"{name} has shape {tuple(mask.shape)}, not {wanted}[{batch}, {queries}, {keys}]"
            )
        if mask.dtype != torch.bool:
            raise ValueError(f"{name} of three dimensions must be boolean, not {mask.dtype}")
        # Where a query may look at nothing, a softmax over nothing could be NaN and would poison
        # the gradient of every weight: it may look at everything instead.
        mask = (mask | ~mask.any(-1, keepdim=True))[:, None]  # [batch, 1, queries, keys]
        attention = self.model.config._attn_implementation
        if attention == "sdpa":
            return mask
        if attention == "eager":
            dtype = self.model.get_input_embeddings().weight.dtype
            return mask.new_zeros((), dtype=dtype).where(mask, torch.finfo(dtype).min)
        raise ValueError(
            f"{attention} attention takes no mask of pairs: call "
            'backbone.model.set_attn_implementation("sdpa")'
        )
