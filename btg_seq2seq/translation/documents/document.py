"""Documents: taken apart into sentences, which are translated, and put together again.

``Document.read`` finds sentences, ``Document.write`` takes their translations. Whoever has a
translator calls ``translate_documents``, which does both.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import regex

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Span
from btg_seq2seq.translation.documents.blocks import Block
from btg_seq2seq.translation.documents.markup import Markup
from btg_seq2seq.translation.documents.pieces import SentencePieces, join_sentences
from btg_seq2seq.translation.documents.protected_rules import ProtectedRules
from btg_seq2seq.translation.documents.put_back import TagWriter
from btg_seq2seq.translation.documents.reading import Cut, parts_of
from btg_seq2seq.translation.documents.sentences import sentence_spans, stripped
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.translation import Translation

SPACE = regex.compile(r"\s")


@dataclass(frozen=True)
class Sentence:
    """A sentence to be translated.

    ``protected`` are characters to be kept. ``has_tags`` if there were tags between its words: to
    put them back, phrases are needed, and a flat translation is one phrase.
    """

    text: str
    protected: tuple[Span, ...] = ()
    has_tags: bool = False


@dataclass(frozen=True)
class _Place:
    """Place of a sentence in its document, and the white space before it."""

    part: int
    span: Span
    space: str


class Document:
    """A text with its sentences; see ``read``."""

    def __init__(self, parts: Sequence[str | Block], markup: Markup, places: Sequence[_Place]):
        self._parts, self._markup, self._places = parts, markup, places

    @classmethod
    def read(
        cls,
        text: str,
        markup: Markup = "text",
        cut: Cut = "lines",
        language: str = "",
        copied: Collection[str] = (),
    ) -> Document:
        """Take a text apart.

        Args:
            text: plain text, HTML or XML.
            markup: ``"html"`` or ``"xml"``: tags are markup, and so is what looks like a reference
                to a character; ``"text"``: what looks like a tag is put back too, but nothing is
                escaped.
            cut: ``"lines"``: sentences are found, and a line break ends one; ``"paragraphs"``: only
                an empty line does; ``"none"``: each line, or run of text in markup, is a sentence.
            language: code of the language, for the abbreviations that end no sentence.
            copied: names of HTML or XML elements that are not translated.
        """
        if markup not in get_args(Markup):
            raise UserError(f"markup is text, html or xml, not {markup!r}")
        if cut not in get_args(Cut):
            raise UserError(f"cut is none, lines or paragraphs, not {cut!r}")
        parts = parts_of(text, markup, cut, copied)
        places = [
            place
            for number, part in enumerate(parts)
            if isinstance(part, Block)
            for place in _sentences(number, part, cut, language)
        ]
        return cls(parts, markup, places)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """All sentences, in order."""
        return [self._sentence(place) for place in self._places]

    def write(self, translations: Sequence[Translation]) -> str:
        """Put the document together; a translation for each sentence is needed.

        Every tag and everything protected is in the result exactly once.
        """
        if len(translations) != len(self._places):
            raise ValueError(f"{len(self._places)} sentences, {len(translations)} translations")
        by_part: dict[int, list[tuple[str, Any]]] = {}
        for place, translation in zip(self._places, translations, strict=True):
            block = self._parts[place.part]
            assert isinstance(block, Block)
            pieces = SentencePieces(block, place.span, translation, self._markup).cut()
            by_part.setdefault(place.part, []).append((place.space, pieces))
        return "".join(
            part
            if isinstance(part, str)
            else TagWriter(part, join_sentences(by_part.get(number, []))).write()
            for number, part in enumerate(self._parts)
        )

    def _sentence(self, place: _Place) -> Sentence:
        block = self._parts[place.part]
        assert isinstance(block, Block)
        start, stop = place.span
        first, last = (
            bisect_left(block.protected, one, key=lambda own: own.start) for one in (start, stop)
        )
        borders = block.borders
        after = bisect_right(borders, start)
        return Sentence(
            SPACE.sub(" ", block.plain[start:stop]),
            tuple((one.start - start, one.stop - start) for one in block.protected[first:last]),
            after < len(borders) and borders[after] < stop,
        )


class SentenceTranslator(Protocol):
    """The part of ``Translator`` that documents need."""

    def translate(
        self,
        texts: Sequence[str],
        mode: Literal["flat", "cky"] | None = None,
        rules: Iterable[Rule] | RuleSet = (),
        nbest: int = 1,
        **settings: Any,
    ) -> list[Translation]:
        """Translate sentences; see ``Translator.translate``."""

    def align(
        self, sources: Sequence[str], targets: Sequence[str], segments: int | None = None
    ) -> list[Translation]:
        """Find phrases of sentence pairs; see ``Translator.align``."""


@dataclass(frozen=True)
class TranslatedDocument:
    """A document in the target language, and the translations of its sentences."""

    text: str
    translations: tuple[Translation, ...]


def translate_documents(
    translator: SentenceTranslator,
    texts: Sequence[str],
    mode: Literal["flat", "cky"] | None = None,
    rules: Iterable[Rule] | RuleSet = (),
    *,
    markup: Markup = "text",
    cut: Cut = "lines",
    language: str = "",
    **settings: Any,
) -> list[TranslatedDocument]:
    """Translate texts as they are: with markup, placeholders and white space.

    ``markup``, ``cut`` and ``language`` are those of ``Document.read``, the others those of
    ``Translator.translate``. A sentence with placeholders is translated by cky in both modes.
    """
    if isinstance(texts, str):
        raise UserError("texts must be a list of documents, not one string")
    documents = [Document.read(text, markup, cut, language) for text in texts]
    sentences = [sentence for document in documents for sentence in document.sentences]
    rule_set = rules if isinstance(rules, RuleSet) else RuleSet(rules)
    found = translate_sentences(translator, sentences, mode, rule_set, **settings)
    results, first = [], 0
    for document in documents:
        own = found[first : first + len(document.sentences)]
        results.append(TranslatedDocument(document.write(own), tuple(own)))
        first += len(own)
    return results


def translate_sentences(
    translator: SentenceTranslator,
    sentences: Sequence[Sentence],
    mode: Literal["flat", "cky"] | None,
    rules: RuleSet,
    **settings: Any,
) -> list[Translation]:
    """Translate the sentences of documents; a flat one with tags is aligned to find its phrases."""
    mode = mode or ("cky" if rules.rules else "flat")
    protecting = ProtectedRules(rules, protected_spans(sentences))
    results: dict[int, Translation] = {}
    for own_mode, chosen in _by_mode(sentences, mode).items():
        own_rules = protecting if own_mode == "cky" else rules
        texts = [sentences[rank].text for rank in chosen]
        found = translator.translate(texts, own_mode, own_rules, **settings) if texts else []
        results |= dict(zip(chosen, found, strict=True))
    tagged = [
        rank
        for rank, translation in results.items()
        if sentences[rank].has_tags and translation.mode == "flat" and translation.text.strip()
    ]
    if tagged:
        sources, targets = (
            [getattr(results[rank], name) for rank in tagged] for name in ("source", "text")
        )
        aligned = translator.align(sources, targets)
        for rank, pair in zip(tagged, aligned, strict=True):
            if pair.derivation is not None:
                results[rank] = with_derivation(results[rank], pair)
    return [results[rank] for rank in range(len(sentences))]


def protected_spans(sentences: Iterable[Sentence]) -> dict[str, list[Span]]:
    """Protected characters by text; of a text that occurs more than once, those of the first."""
    spans: dict[str, list[Span]] = {}
    for sentence in sentences:
        if sentence.protected:
            spans.setdefault(sentence.text, list(sentence.protected))
    return spans


def with_derivation(translation: Translation, aligned: Translation) -> Translation:
    """Return a flat translation with the phrases that were found in it."""
    return replace(translation, derivation=aligned.derivation)


def _by_mode(
    sentences: Sequence[Sentence], mode: Literal["flat", "cky"]
) -> dict[Literal["flat", "cky"], list[int]]:
    """Numbers of the sentences to be translated in each mode; what is protected needs cky."""
    chosen: dict[Literal["flat", "cky"], list[int]] = {"flat": [], "cky": []}
    for rank, sentence in enumerate(sentences):
        chosen["cky" if sentence.protected else mode].append(rank)
    return chosen


def _sentences(number: int, block: Block, cut: Cut, language: str) -> list[_Place]:
    """Places of the sentences of a block."""
    whole = [(one.start, one.stop) for one in block.protected]
    spans = [stripped(block.plain, 0, len(block.plain))]
    if cut != "none":
        spans = sentence_spans(block.plain, language, whole)
    places: list[_Place] = []
    end = 0
    for start, stop in spans:
        places.append(_Place(number, (start, stop), block.plain[end:start] if places else ""))
        end = stop
    return places
