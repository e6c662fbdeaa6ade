"""Sentences that stay encoded, so that another rule is quick; the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from btg_seq2seq.grammar.packing import split_count
from btg_seq2seq.translation.prepared_texts import PreparedTexts
from btg_seq2seq.translation.tokenized_text import TokenizedText

# Estimated bytes: two scores per split; candidates per unit; the text itself.
SPLIT_BYTES, UNIT_BYTES, TEXT_BYTES = 16, 16 * 1024, 4 * 1024


@dataclass(frozen=True)
class Place:
    """A sentence among texts that were prepared together."""

    prepared: PreparedTexts
    rank: int


class PreparedCache:
    """Prepared texts within a bound of memory.

    Texts that were prepared together share tensors, so they are forgotten together.
    """

    def __init__(self, most_bytes: int, hidden_size: int) -> None:
        self.most_bytes, self.hidden_size = most_bytes, hidden_size
        self.size = 0  # estimated bytes
        self.hits = self.misses = 0
        self._groups: OrderedDict[int, tuple[PreparedTexts, int]] = OrderedDict()  # with sizes
        self._places: dict[str, Place] = {}

    def find(self, text: str) -> Place | None:
        """Look up a sentence, which is then the most recently used."""
        place = self._places.get(text)
        if place is None:
            self.misses += 1
            return None
        self.hits += 1
        self._groups.move_to_end(id(place.prepared))
        return place

    def add(self, prepared: PreparedTexts, texts: Sequence[str]) -> None:
        """Keep texts that were prepared together."""
        self._groups[id(prepared)] = prepared, 0
        for rank, text in enumerate(texts):
            self._places[text] = Place(prepared, rank)
        self.measure(prepared)

    def measure(self, prepared: PreparedTexts) -> None:
        """Take note that texts were used, and may have grown; forget what no longer fits."""
        if id(prepared) in self._groups:
            longest = prepared.settings.max_cky_length
            new = sum(self._bytes(source, longest) for source in prepared.encoded)
            new += TEXT_BYTES * len(prepared.sources)
            self.size += new - self._groups[id(prepared)][1]
            self._groups[id(prepared)] = prepared, new
        while self.size > self.most_bytes:
            oldest, _ = next(iter(self._groups.values()))
            self.forget(oldest)

    def forget(self, prepared: PreparedTexts) -> None:
        """Drop texts that were prepared together."""
        _, size = self._groups.pop(id(prepared), (prepared, 0))
        self.size -= size
        for source in prepared.sources:
            place = self._places.get(source.text)
            if place is not None and place.prepared is prepared:
                del self._places[source.text]

    def forget_all(self) -> None:
        """Drop everything."""
        for prepared, _ in list(self._groups.values()):
            self.forget(prepared)

    def __len__(self) -> int:
        return len(self._places)

    def _bytes(self, source: TokenizedText, longest: int) -> int:
        """Estimate the memory of an encoded sentence; only up to ``longest`` units have charts."""
        states = 4 * self.hidden_size * len(source.tokens)
        splits = split_count(source.units) if source.units <= longest else 0
        return states + SPLIT_BYTES * splits + UNIT_BYTES * source.units
