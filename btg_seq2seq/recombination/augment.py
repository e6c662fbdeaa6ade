"""New sentence pairs as text: a bitext recombined again and again until there are enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count as count_from

import numpy as np
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.recombination.recombine import Recombiner


@dataclass
class Augmented:
    """New pairs, and the number of pairs with words that the tokenizer does not know."""

    pairs: list[tuple[str, str]] = field(default_factory=list)
    unknown: int = 0


def augment(
    recombiner: Recombiner,
    tokenizer: PreTrainedTokenizerBase,
    count: int,
    seed: int,
) -> Augmented:
    """Up to ``count`` different new sentence pairs as text; fewer where there seem to be no more.

    Sources of the bitext itself are never among them.
    """
    new = Augmented()
    examples = recombiner.examples
    sources = [list(examples.source[position]) for position in range(len(examples))]
    seen = set(map(tuple, sources))
    # The same text may be made of other tokens, where phrases meet.
    texts = set(tokenizer.batch_decode(sources, skip_special_tokens=True))
    for number in count_from():
        before = len(new.pairs)
        for sides in _round(recombiner, seed, number, seen):
            if any(tokenizer.unk_token_id in tokens for tokens in sides):
                new.unknown += 1
                continue
            read, written = (
                str(tokenizer.decode(tokens, skip_special_tokens=True)) for tokens in sides
            )
            if read in texts:
                continue
            texts.add(read)
            new.pairs.append((read, written))
            if len(new.pairs) == count:
                return new
        if (len(new.pairs) - before) * 100 < len(examples):
            break  # a round that found next to nothing
    return new


def _round(
    recombiner: Recombiner, seed: int, number: int, seen: set[tuple[int, ...]]
) -> Iterator[tuple[list[int], list[int]]]:
    """Recombine every sentence once; what is new is added to what was seen."""
    order = np.random.default_rng([seed, number]).permutation(len(recombiner.examples))
    for position in order.tolist():
        made = recombiner.recombine(position, seed, number)
        if made is not None and tuple(made[0]) not in seen:
            seen.add(tuple(made[0]))
            yield made
