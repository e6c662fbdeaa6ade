"""Counters for Prometheus; each server has its own."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    """The counters that ``/metrics`` reports."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "btg_requests", "Requests that were answered", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "btg_request_seconds", "Time until the answer", ["route"], registry=registry
        )
        self.sentences = Counter(
            "btg_sentences", "Sentences that were computed", ["lane"], registry=registry
        )
        self.batch_size = Histogram(
            "btg_batch_sentences",
            "Sentences that were computed together",
            ["lane"],
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=registry,
        )
        self.waiting = Gauge(
            "btg_waiting_sentences", "Sentences that wait for their turn", ["lane"],
            registry=registry,
        )  # fmt: skip
        self.fallbacks = Counter(
            "btg_fallbacks", "Sentences too long for the grammar", ["model"], registry=registry
        )
        self.cached = Gauge(
            "btg_cached_sentences", "Sentences kept encoded", ["model"], registry=registry
        )
        self.cache_bytes = Gauge(
            "btg_cache_bytes", "Estimated memory of these", ["model"], registry=registry
        )
        self.cache_hits = Gauge(
            "btg_cache_hits", "Sentences found encoded", ["model"], registry=registry
        )

    def exposed(self) -> bytes:
        """All values, as Prometheus reads them."""
        return generate_latest(self.registry)
