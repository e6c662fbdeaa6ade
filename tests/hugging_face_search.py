"""Beam search by Hugging Face's ``generate``: the oracle of our own search."""

import torch
from transformers import DynamicCache, EncoderDecoderCache, LogitsProcessor, LogitsProcessorList
from transformers.modeling_outputs import BaseModelOutput

from btg_seq2seq.decoding.search.beam_search import Beams

# Settings that pretrained models may have, with which scores would not be probabilities.
PLAIN_SEARCH = {
    "do_sample": False,
    "early_stopping": False,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "bad_words_ids": None,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "exponential_decay_length_penalty": None,
    "max_length": None,
    "min_length": 0,
    "min_new_tokens": None,
    "max_time": None,
    "renormalize_logits": False,
    "remove_invalid_values": False,
    "use_cache": True,
    "output_scores": False,
    "output_logits": False,
    "output_attentions": False,
    "output_hidden_states": False,
}


@torch.no_grad()
def hugging_face_search(
    backbone,
    level,
    states,
    mask,
    limits,
    settings,
):
    """Find what ``beam_search`` finds; the arguments are the same."""
    rows, beam = len(states), settings.beam_size
    limits = limits.clamp(max=level.longest(backbone, int(limits.max())))
    watch = _Watch(level, limits.repeat_interleave(beam), beam)
    generated = backbone.model.generate(
        encoder_outputs=BaseModelOutput(last_hidden_state=states),
        attention_mask=mask.long(),
        decoder_input_ids=limits.new_tensor(level.prompt).expand(rows, -1),
        decoder_start_token_id=level.prompt[0],
        eos_token_id=level.end,
        pad_token_id=backbone.pad,
        num_beams=beam,
        num_return_sequences=beam,
        # Without beams it has no effect, and transformers warns of any other value.
        length_penalty=1.0 if settings.length_normalised or beam == 1 else 0.0,
        max_new_tokens=int(limits.max()) + 1,
        logits_processor=LogitsProcessorList([watch]),
        past_key_values=EncoderDecoderCache(DynamicCache(), DynamicCache()),
        return_dict_in_generate=True,
        **PLAIN_SEARCH,
    )
    tokens = generated.sequences[:, len(level.prompt) :]  # [rows beam, longest]
    ends = (tokens == level.end).int()
    has_end, lengths = ends.amax(1) > 0, ends.argmax(1)
    parents = None if beam == 1 else generated.beam_indices
    sums = watch.log_probs(tokens, lengths, parents)
    if parents is not None:
        # If there are fewer strings than places, search repeats some: from copies of the prompt,
        # or by continuing after an end token.
        has_end &= (parents[:, 0] % beam == 0) & ((parents >= 0).sum(1) == lengths + 1)
    sums = sums.masked_fill(~has_end | sums.isnan(), -torch.inf)
    shape = rows, beam
    return Beams(tokens.view(*shape, -1), lengths.view(shape), sums.view(shape))


class _Watch(LogitsProcessor):
    """Forbids tokens, ends hypotheses in time, and records probabilities without changing them.

    Hugging Face returns scores only for the whole vocabulary at every step. A beam can only
    continue with the best few of these, so only they are kept.
    """

    def __init__(self, level, limits, beam):
        self.level, self.limits, self.beam = level, limits, beam
        self.banned = limits.new_tensor(level.banned)
        self.steps = []  # best log-probabilities and their tokens

    def __call__(self, input_ids, scores):
        # Without beams, the scores are logits.
        log_probs = scores.float().log_softmax(-1) if self.beam == 1 else scores
        length = input_ids.shape[1] - len(self.level.prompt)
        self.level.forbid(log_probs, self.banned, length, self.limits)
        self.steps.append(log_probs.topk(min(2 * self.beam, log_probs.shape[1])))
        return log_probs

    def log_probs(self, tokens, lengths, parents):
        """Compute the log-probability of each string with its end token, ``[strings]``.

        ``parents``, ``[strings, steps]``, are the rows of the beam to which tokens were appended.
        """
        count, steps = tokens.shape
        if parents is None:
            parents = torch.arange(count, device=tokens.device)[:, None].expand(-1, steps)
        step = torch.arange(steps, device=tokens.device).expand_as(tokens)
        values = torch.stack([value for value, _ in self.steps[:steps]])  # [steps, rows, best]
        names = torch.stack([name for _, name in self.steps[:steps]])
        parents = parents.long().clamp(min=0)
        values, names = values[step, parents], names[step, parents]  # [strings, steps, best]
        is_this = names == tokens[..., None]
        # A token that ties with the last of the best may have been left out.
        known = torch.where(is_this, values, values[..., -1:]).amax(-1).double()
        return known.masked_fill(step > lengths[:, None], 0.0).sum(1)
