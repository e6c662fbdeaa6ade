"""Limits of the server; requests beyond them are refused, and nothing is cut off silently."""

from __future__ import annotations

from dataclasses import dataclass, fields

from btg_seq2seq.checks import finite, whole


@dataclass(frozen=True)
class Limits:
    """Limits of what clients may ask for; options of ``btg serve``."""

    body_bytes: int = 2**20
    """Longest body of a request in bytes; above, the answer is 413."""

    sentences: int = 500
    """Most sentences of a request; above, the answer is 413."""

    rules: int = 1000
    """Most rules of a request, those of its glossary included; above, the answer is 413."""

    glossaries: int = 1000
    """Most glossaries per key; above, the answer is 413."""

    glossary_entries: int = 20_000
    """Most entries of a glossary; above, the answer is 413. The rules of a glossary count only
    where their source occurs in the text."""

    waiting: int = 2000
    """Most sentences that wait for their turn; above, the answer is 429 with a time to try again
    after."""

    deadline: float = 60.0
    """Seconds after which a request is given up; the answer is 504."""

    batch: int = 64
    """Most sentences, of all requests, that are translated together."""

    cache_megabytes: int = 256
    """Memory per model for sentences that are kept, so that another rule is quick. It is
    estimated."""

    connections: int = 256
    """Most connections at a time; above, the answer is 503."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name == "deadline":
                finite("deadline", self.deadline)
            else:
                least = 0 if field.name in ("cache_megabytes", "glossaries") else 1
                whole(field.name, getattr(self, field.name), least)
