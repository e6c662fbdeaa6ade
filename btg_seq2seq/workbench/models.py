"""The models of a server: what each computes for a batch of items, in the thread of a lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.prepared_texts import PreparedTexts, chunks
from btg_seq2seq.translation.rules.rules import RuleSet
from btg_seq2seq.translation.scoring import Score
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator
from btg_seq2seq.workbench.languages import UNDETERMINED, Languages, matches
from btg_seq2seq.workbench.prepared_cache import Place, PreparedCache

WARM_UP = "a b"


@dataclass(frozen=True)
class CkyItem:
    """A sentence to translate by the grammar, with its rules."""

    text: str
    rules: RuleSet
    nbest: int = 1


@dataclass(frozen=True)
class FlatItem:
    """A sentence to translate flat."""

    text: str
    nbest: int = 1


@dataclass(frozen=True)
class PairItem:
    """A sentence and a given translation."""

    source: str
    target: str


class ServedModel:
    """A model under a name.

    Each lane has a translator of its own around the same weights. Both use what was tuned for their
    mode, as ``btg translate`` does.
    """

    def __init__(
        self,
        name: str,
        translator: Translator,
        languages: Languages | None = None,
        cache_bytes: int = 2**28,
        examples: Sequence[str] = (),
    ) -> None:
        self.name, self.languages = name, languages or Languages()
        self.examples = list(examples)
        self.flat = translator
        self.cky = translator.for_another_thread()
        self.cky_settings = self.cky.settings_for("cky")
        translator.model.train(False)
        hidden = int(translator.model.backbone.model.config.hidden_size)
        self.cache = PreparedCache(cache_bytes, hidden)

    @property
    def most_nbest(self) -> int:
        """Most translations per sentence."""
        return min(self.flat.settings_for("flat").beam_size, self.cky_settings.beam_size)

    def before_each_step(self, hook: Callable[..., None]) -> None:
        """Call a hook before each step of the decoder, and before sentences are encoded."""
        model: Any = self.flat.model.backbone.model
        for part in (model.get_encoder(), model.get_decoder()):
            part.register_forward_pre_hook(hook)

    def warm_up(self) -> None:
        """Compile or load what the first requests would wait for."""
        self.flat.translate([WARM_UP])
        self.translate_cky([CkyItem(WARM_UP, RuleSet())])
        self.cache.forget_all()

    # ---- the work of the lanes -----------------------------------------------------------------

    def translate_flat(self, items: Sequence[FlatItem]) -> list[Translation]:
        """Translate sentences flat."""
        nbest = max(item.nbest for item in items)
        found = self.flat.translate([item.text for item in items], "flat", nbest=nbest)
        return [_cut(one, item.nbest) for one, item in zip(found, items, strict=True)]

    def translate_cky(self, items: Sequence[CkyItem]) -> list[Translation]:
        """Translate sentences by the grammar; those in the cache are not encoded again."""
        nbest = max(item.nbest for item in items)
        places = self._places([item.text for item in items])
        results: dict[int, Translation] = {}
        for prepared, numbers in _rounds(places):
            try:
                found = prepared.translate_some(
                    [places[number].rank for number in numbers],
                    [items[number].rules for number in numbers],
                    nbest,
                )
            except BaseException:
                self.cache.forget(prepared)  # it may be half done
                raise
            results |= zip(numbers, found, strict=True)
            self.cache.measure(prepared)
        return [_cut(results[number], item.nbest) for number, item in enumerate(items)]

    def score(self, items: Sequence[PairItem]) -> list[Score]:
        """Score given translations."""
        return self.cky.score([item.source for item in items], [item.target for item in items])

    def align(self, items: Sequence[PairItem], segments: int | None = None) -> list[Translation]:
        """Align given translations."""
        sources, targets = [item.source for item in items], [item.target for item in items]
        return self.cky.align(sources, targets, segments)

    def _places(self, texts: Sequence[str]) -> list[Place]:
        """Find the texts in the cache; those that are not there are prepared together."""
        found = {text: self.cache.find(text) for text in dict.fromkeys(texts)}
        missing = [text for text, place in found.items() if place is None]
        # An error counts sentences as they were given.
        settings = self.cky_settings
        sources = dict(zip(texts, self.cky.read(texts, settings), strict=True)) if missing else {}
        for chunk in chunks([sources[text] for text in missing], settings):
            prepared = PreparedTexts(self.cky, list(chunk), settings)
            for rank, source in enumerate(chunk):
                found[source.text] = Place(prepared, rank)
            self.cache.add(prepared, [source.text for source in chunk])
        return [place for text in texts if (place := found[text]) is not None]


class Models:
    """All models by name; the first one is the default."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self.by_name = {model.name: model for model in models}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self.by_name.values())

    def named(self, name: str | None) -> ServedModel:
        """Return the model with a name, or the first."""
        if name is None:
            return next(iter(self))
        if name not in self.by_name:
            raise UserError(f"there is no model {name!r}; there are {', '.join(self.by_name)}")
        return self.by_name[name]

    def between(self, source: str | None, target: str | None) -> ServedModel:
        """Return the first model for two languages; ``None`` stands for any."""
        for model in self:
            own = model.languages
            if (source is None or matches(source, own.source)) and (
                target is None or matches(target, own.target)
            ):
                return model
        pairs = ", ".join(sorted({f"{own.source}-{own.target}" for own in self.pairs}))
        advice = ""
        if all(not own.are_known for own in self.pairs):
            advice = "; the server was started without languages, see btg serve --help"
        asked = f"{source or 'any language'} to {target or 'any language'}"
        raise UserError(f"no model translates from {asked}; there is {pairs}{advice}")

    @property
    def pairs(self) -> list[Languages]:
        """The languages of all models, each pair once."""
        return list(dict.fromkeys(model.languages for model in self))

    @property
    def sources(self) -> list[str]:
        """All source languages that are known, or ``und``."""
        return self._known("source")

    @property
    def targets(self) -> list[str]:
        """All target languages that are known, or ``und``."""
        return self._known("target")

    def _known(self, side: Literal["source", "target"]) -> list[str]:
        tags = dict.fromkeys(getattr(own, side) for own in self.pairs)
        return [tag for tag in tags if tag != UNDETERMINED] or [UNDETERMINED]


def _rounds(places: Sequence[Place]) -> Iterator[tuple[PreparedTexts, list[int]]]:
    """Yield the ranks of places in the same prepared texts, no text twice at a time."""
    left = list(enumerate(places))
    while left:
        prepared = left[0][1].prepared
        chosen: dict[int, int] = {}
        later = []
        for number, place in left:
            if place.prepared is prepared and place.rank not in chosen:
                chosen[place.rank] = number
            else:
                later.append((number, place))
        yield prepared, list(chosen.values())
        left = later


def _cut(translation: Translation, nbest: int) -> Translation:
    """Keep the alternatives that were asked for."""
    if len(translation.alternatives) < nbest:
        return translation
    return replace(translation, alternatives=translation.alternatives[: nbest - 1])
