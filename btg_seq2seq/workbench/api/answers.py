"""Answers of our own API, as its OpenAPI description shows them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class PhraseAnswer(BaseModel):
    """A phrase of the source and its translation."""

    source: str
    target: str
    units: tuple[int, int] = Field(description="words of the source, [start, stop)")
    source_span: tuple[int, int] = Field(description="characters of the source")
    target_span: tuple[int, int] = Field(description="characters of the translation")
    log_prob: float | None
    rule: dict[str, Any] | None = Field(description="the rule that gave the translation")


class DerivationAnswer(BaseModel):
    """The phrases of a sentence, and the order in which they were translated."""

    tree: str = Field(examples=["[0:2 <2:3 3:5>]"])
    bracket: str
    phrases: list[PhraseAnswer] = Field(description="in target order")


class AlternativeAnswer(BaseModel):
    """One of the most probable translations."""

    text: str
    log_prob: float | None
    variants: list[list[int]] = Field(description="token strings that read as the text")
    derivation: DerivationAnswer | None


class TranslationAnswer(AlternativeAnswer):
    """A translation with its provenance."""

    source: str
    mode: Literal["flat", "cky", "given"]
    alternatives: list[AlternativeAnswer]
    segment_posterior: list[float] = Field(
        description="probability that the text is made of 1, 2, ... phrases"
    )
    fallback: str | None = Field(
        description="reason why the sentence was not translated as requested, such as its length"
    )
    notices: list[str] = Field(description="rules that were not applied as written")
    svg: str | None = Field(None, description="picture of the derivation, if asked for")


class TranslateAnswer(BaseModel):
    """Translations in the order of the texts."""

    model: str
    mode: Literal["flat", "cky"]
    translations: list[TranslationAnswer]
    problems: list[str] = Field(description="rules that contradict another, or matched nothing")
    request: dict[str, Any] = Field(description="the request with its model and mode")
    permalink: str = Field(description="address of the page with this request")


class AlignmentAnswer(TranslationAnswer):
    """An aligned sentence pair."""

    pharaoh: str = Field(description="word alignment", examples=["0-0 1-2 2-1"])


class AlignAnswer(BaseModel):
    """Alignments in the order of the pairs."""

    model: str
    alignments: list[AlignmentAnswer]


class PairScore(BaseModel):
    """Log-probabilities of a given translation; null for minus infinity."""

    source: str
    text: str
    flat_log_prob: float | None
    cky_log_prob: float | None
    derivation: DerivationAnswer | None


class ScoreAnswer(BaseModel):
    """Scores in the order of the pairs."""

    model: str
    scores: list[PairScore]


class ModelAnswer(BaseModel):
    """A model that is served."""

    name: str
    source: str = Field(description="language, or und if it is not known")
    target: str
    nbest: int = Field(description="most translations per sentence")
    max_length: int | None = Field(description="most tokens of a sentence")
    max_cky_length: int = Field(description="longer sentences, in words, are translated flat")
    parsers_learned: bool = Field(description="whether the trees mean anything")
    examples: list[str] = Field(description="sentences to try; only of the demonstration's model")


class ModelsAnswer(BaseModel):
    """All models, and limits of requests."""

    models: list[ModelAnswer]
    limits: dict[str, float]


class Health(BaseModel):
    """The state of the server."""

    status: Literal["ok"]
    models: int


class ErrorAnswer(BaseModel):
    """Why a request was refused."""

    error: str


class DeepLError(BaseModel):
    """Why a request was refused."""

    message: str


_REASONS = {
    400: "the request cannot be understood, or asks for what is not there",
    403: "a key is needed, or the key is wrong",
    408: "the body did not arrive in time",
    413: "the body, or the number of sentences or rules, is above its limit",
    421: "the server has another name",
    422: "a field is missing or wrong",
    429: "too many sentences are waiting; Retry-After says when to try again",
    503: "the server is shutting down",
    504: "the request took longer than the deadline",
}


def problems(answer: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """Describe the errors of an API."""
    return {status: {"description": reason, "model": answer} for status, reason in _REASONS.items()}


PROBLEMS = problems(ErrorAnswer)
DEEPL_PROBLEMS = problems(DeepLError)
