"""The common part of all APIs: models, queues, keys and limits, and translation with these."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.scoring import Score
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.workbench.glossaries import GlossaryStore
from btg_seq2seq.workbench.keys import Keys, key_in_header
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.metrics import Metrics
from btg_seq2seq.workbench.models import CkyItem, FlatItem, Models, PairItem, ServedModel
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.scheduler import Scheduler

Mode = Literal["flat", "cky"]


@dataclass(frozen=True)
class Translated:
    """Translations, and what there is to say about the rules as a whole."""

    translations: list[Translation]
    mode: Mode
    problems: list[str]


class Service:
    """The models of a server, behind one scheduler."""

    def __init__(
        self,
        models: Models,
        limits: Limits | None = None,
        keys: Keys | None = None,
        glossaries: GlossaryStore | None = None,
        threads: int = 1,
    ) -> None:
        self.models, self.limits, self.keys = models, limits or Limits(), keys or Keys()
        self.glossaries = glossaries or GlossaryStore()
        self.metrics = Metrics()
        self.scheduler = Scheduler(self.limits, self.metrics, threads)
        for model in models:
            model.before_each_step(self.scheduler.give_way)
            cache, name = model.cache, model.name
            self.metrics.cached.labels(name).set_function(partial(len, cache))
            self.metrics.cache_bytes.labels(name).set_function(partial(getattr, cache, "size"))
            self.metrics.cache_hits.labels(name).set_function(partial(getattr, cache, "hits"))

    async def translate(
        self,
        model: ServedModel,
        texts: Sequence[str],
        mode: Mode | None = None,
        rules: Iterable[Rule] | RuleSet = (),
        nbest: int = 1,
    ) -> Translated:
        """Translate sentences; rules need cky, which is then the default."""
        rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        self.check_counts(texts, rule_set.rules)
        if not 1 <= nbest <= model.most_nbest:
            raise UserError(
                f"nbest must lie between 1 and {model.most_nbest}, the beam size, not {nbest}"
            )
        mode = mode or ("cky" if rule_set.rules else "flat")
        if mode == "flat":
            if rule_set.rules:
                raise UserError("flat translation cannot obey rules; use the mode cky, or no rules")
            flat = [FlatItem(text, nbest) for text in texts]
            key = model.name, "flat"
            found = await self.scheduler.run("flat", key, model.translate_flat, flat)
            return Translated(found, mode, [])
        items = [CkyItem(text, rule_set, nbest) for text in texts]
        key = model.name, "cky"
        found = await self.scheduler.run("cky", key, model.translate_cky, items)
        self.metrics.fallbacks.labels(model.name).inc(sum(bool(one.fallback) for one in found))
        unmatched = [f"rule {rule} matched nothing" for rule in rule_set.unmatched]
        return Translated(found, mode, [*rule_set.problems, *unmatched])

    async def score(self, model: ServedModel, pairs: Sequence[tuple[str, str]]) -> list[Score]:
        """Score given translations."""
        self.check_counts(pairs)
        items = [PairItem(*pair) for pair in pairs]
        found: list[Score] = await self.scheduler.run(
            "cky", (model.name, "score"), model.score, items
        )
        return found

    async def align(
        self, model: ServedModel, pairs: Sequence[tuple[str, str]], segments: int | None = None
    ) -> list[Translation]:
        """Align given translations."""
        self.check_counts(pairs)
        items = [PairItem(*pair) for pair in pairs]
        work = partial(model.align, segments=segments)
        key = model.name, "align", segments
        found: list[Translation] = await self.scheduler.run("cky", key, work, items)
        return found

    def check_counts(self, texts: Sequence[Any], rules: Sequence[Rule] = ()) -> None:
        """Refuse more sentences or rules than a request may have."""
        limits = self.limits
        if len(texts) > limits.sentences:
            raise Problem(413, f"{len(texts)} sentences, but at most {limits.sentences} at a time")
        if len(rules) > limits.rules:
            raise Problem(413, f"{len(rules)} rules, but at most {limits.rules} at a time")

    async def close(self) -> None:
        """Finish what is under way."""
        await asyncio.to_thread(self.scheduler.close)
        self.glossaries.close()


# Both are coroutines because FastAPI runs plain functions in a thread, which takes far longer.
async def service_of(request: Request) -> Service:
    """Return the service of the app that handles a request."""
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(service_of)]


async def keyed(request: Request, service: TheService) -> str:
    """Check the key in the headers; returns the name of the client's glossaries."""
    return service.keys.check(key_in_header(request))


Namespace = Annotated[str, Depends(keyed)]
