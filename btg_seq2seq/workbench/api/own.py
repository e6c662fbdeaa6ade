"""Our own API, version 1: translate, align and score, with derivations and pictures."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from btg_seq2seq.drawing.colours import ThemeName
from btg_seq2seq.drawing.drawing import View, draw
from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.scoring import Score
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.workbench.api.answers import (
    PROBLEMS,
    AlignAnswer,
    Health,
    ModelsAnswer,
    ScoreAnswer,
    TranslateAnswer,
)
from btg_seq2seq.workbench.service import Namespace, TheService

router = APIRouter(tags=["btg"])


class Strict(BaseModel):
    """A request; fields that it does not have are refused, since they are probably misspelt."""

    model_config = ConfigDict(extra="forbid")


class GivenRule(Strict):
    """The translation that a phrase of the source must, or may, have."""

    source: str = Field(examples=["von Grund auf"])
    target: str | list[str] = Field(
        default_factory=list, description="one translation, or several to choose from"
    )
    mode: Literal["force", "prefer", "keep"] = Field(
        "force",
        description="force: one of the targets is in the translation; prefer: they compete with "
        "the model's own; keep: the source is copied",
    )
    case: Literal["sensitive", "insensitive", "follow"] = Field(
        "sensitive", description="follow: insensitive, and the target has the case of the match"
    )

    def rule(self, number: int) -> Rule:
        """Return the rule; errors name its number."""
        return Rule(self.source, self.target, self.mode, self.case, f"rules[{number}]")


class Picture(Strict):
    """Settings of pictures."""

    view: View = "tree"
    theme: ThemeName = "auto"


Explain = Annotated[
    bool | Picture,
    Field(description="add svg, a picture of the derivation, to every result"),
]
ModelName = Annotated[str | None, Field(description="name of the model; the first unless given")]


class TranslateRequest(Strict):
    """Sentences to translate."""

    texts: list[str] = Field(description="sentences", examples=[["das Haus ist klein"]])
    model: ModelName = None
    mode: Literal["flat", "cky"] | None = Field(
        None,
        description="flat: the seq2seq model alone; cky: the grammar combines phrases. Unless "
        "given, cky where there are rules",
    )
    rules: list[GivenRule] = Field(default_factory=list)
    nbest: int = Field(1, ge=1, description="translations per sentence")
    explain: Explain = False


class Pair(Strict):
    """A sentence and its translation."""

    source: str
    target: str


class AlignRequest(Strict):
    """Sentence pairs to align."""

    pairs: list[Pair]
    model: ModelName = None
    segments: int | None = Field(
        None, ge=1, le=1000, description="phrases per sentence; the most probable number from two"
    )
    explain: Explain = False


class ScoreRequest(Strict):
    """Sentence pairs whose probabilities are asked for."""

    pairs: list[Pair]
    model: ModelName = None


@router.post("/v1/translate", responses={200: {"model": TranslateAnswer}, **PROBLEMS})
async def translate(
    request: TranslateRequest, service: TheService, namespace: Namespace
) -> JSONResponse:
    """Translate sentences, flat or by the grammar, with rules.

    Each translation has the fields of ``btg translate --format jsonl``.
    """
    model = service.models.named(request.model)
    rules = [rule.rule(number) for number, rule in enumerate(request.rules)]
    found = await service.translate(model, request.texts, request.mode, rules, request.nbest)
    complete = request.model_copy(update={"model": model.name, "mode": found.mode})
    asked = complete.model_dump(exclude_defaults=True)
    return JSONResponse(
        {
            "model": model.name,
            "mode": found.mode,
            "translations": await with_pictures(found.translations, request.explain),
            "problems": found.problems,
            "request": asked,
            "permalink": permalink(asked),
        }
    )


@router.post("/v1/align", responses={200: {"model": AlignAnswer}, **PROBLEMS})
async def align(request: AlignRequest, service: TheService, namespace: Namespace) -> JSONResponse:
    """Find the phrases of sentence pairs that translate each other.

    Each alignment has the fields of ``btg align --format json``, and ``pharaoh``, word alignments
    such as 0-0 1-2.
    """
    model = service.models.named(request.model)
    pairs = [(pair.source, pair.target) for pair in request.pairs]
    found = await service.align(model, pairs, request.segments)
    alignments = await with_pictures(found, request.explain)
    for values, one in zip(alignments, found, strict=True):
        values["pharaoh"] = one.to_pharaoh()
    return JSONResponse({"model": model.name, "alignments": alignments})


@router.post("/v1/score", responses={200: {"model": ScoreAnswer}, **PROBLEMS})
async def score(request: ScoreRequest, service: TheService, namespace: Namespace) -> JSONResponse:
    """Compute the probabilities of given translations, as ``btg score`` does."""
    model = service.models.named(request.model)
    found = await service.score(model, [(pair.source, pair.target) for pair in request.pairs])
    scores = [
        {"source": pair.source, "text": pair.target, **_score_values(one)}
        for pair, one in zip(request.pairs, found, strict=True)
    ]
    return JSONResponse({"model": model.name, "scores": scores})


@router.get("/v1/models", responses={200: {"model": ModelsAnswer}, **PROBLEMS})
async def models(service: TheService, namespace: Namespace) -> JSONResponse:
    """List the models with their languages and limits; the first one is the default."""
    found = [
        {
            "name": model.name,
            "source": model.languages.source,
            "target": model.languages.target,
            "nbest": model.most_nbest,
            "max_length": model.flat.settings.max_length,
            "max_cky_length": model.flat.settings.max_cky_length,
            "parsers_learned": model.flat.model.config.parsers_learned,
            "examples": model.examples,
        }
        for model in service.models
    ]
    limits = service.limits
    return JSONResponse(
        {
            "models": found,
            "limits": {
                "body_bytes": limits.body_bytes,
                "sentences": limits.sentences,
                "rules": limits.rules,
                "deadline": limits.deadline,
            },
        }
    )


@router.get("/health", responses={200: {"model": Health}})
async def health(service: TheService) -> Health:
    """Say whether the server is ready; no key is needed."""
    return Health(status="ok", models=len(service.models.by_name))


@router.get("/metrics", response_class=Response)
async def metrics(service: TheService, namespace: Namespace) -> Response:
    """Counters for Prometheus."""
    return Response(service.metrics.exposed(), media_type=service.metrics.content_type)


def permalink(asked: dict[str, Any]) -> str:
    """Return the address of the page with a request: JSON in the part that is not sent."""
    return "/#" + quote(json.dumps(asked, ensure_ascii=False, separators=(",", ":")), safe="")


async def with_pictures(
    translations: Sequence[Translation], explain: bool | Picture
) -> list[dict[str, Any]]:
    """Write translations as JSON, with pictures if asked for; those too large have none."""
    values = [translation.to_json() for translation in translations]
    if explain:
        picture = explain if isinstance(explain, Picture) else Picture()
        for own, translation in zip(values, translations, strict=True):
            own["svg"] = await asyncio.to_thread(_svg, translation, picture)
    return values


def _svg(translation: Translation, picture: Picture) -> str | None:
    try:
        return draw(translation, picture.view, picture.theme).svg
    except UserError:
        return None


def _score_values(score: Score) -> dict[str, Any]:
    """Write a score as JSON, which has no minus infinity."""
    flat, cky = (
        value if math.isfinite(value) else None
        for value in (score.flat_log_prob, score.cky_log_prob)
    )
    derivation = score.derivation and score.derivation.to_json()
    return {"flat_log_prob": flat, "cky_log_prob": cky, "derivation": derivation}
