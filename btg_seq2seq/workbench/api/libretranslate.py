"""The API of LibreTranslate, which Weblate and many other programs speak.

Written from its public documentation. ``POST /translate`` with the field ``langpair`` is a request
to Apertium's API, which has the same address.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator

from btg_seq2seq.workbench.api.answers import PROBLEMS
from btg_seq2seq.workbench.api.apertium import translate_pair
from btg_seq2seq.workbench.api.bodies import Fields, checked, described, read_fields
from btg_seq2seq.workbench.api.documents import translate_documents
from btg_seq2seq.workbench.keys import key_in_header
from btg_seq2seq.workbench.languages import name_of
from btg_seq2seq.workbench.service import Service, TheService

router = APIRouter(tags=["LibreTranslate"])
AUTO = "auto"


class LibreRequest(BaseModel):
    """Texts to translate."""

    q: str | list[str] = Field(description="one text, or several")
    source: str = Field(AUTO, description="language, or auto for that of the model")
    target: str = Field(description="language")
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, description="other translations per text")
    api_key: str | None = None

    @field_validator("format", mode="before")
    @classmethod
    def _tidy(cls, value: Any) -> Any:
        return value or "text"


class DetectRequest(BaseModel):
    """Texts whose language is asked for."""

    q: str | list[str]
    api_key: str | None = None


@router.post("/translate", responses=PROBLEMS, openapi_extra=described(LibreRequest))
async def translate(request: Request, service: TheService) -> JSONResponse:
    """Translate texts: plain or HTML, of any number of sentences."""
    fields = await read_fields(request)
    if "langpair" in fields:
        return await translate_pair(request, service, fields)
    _check_key(request, service, fields)
    asked = checked(LibreRequest, fields)
    source = None if asked.source.lower() == AUTO else asked.source
    model = service.models.between(source, asked.target)
    texts = [asked.q] if isinstance(asked.q, str) else asked.q
    found = await translate_documents(
        service, model, texts, markup=asked.format, nbest=1 + asked.alternatives
    )
    answer: dict[str, Any] = {"translatedText": [one.text for one in found]}
    if asked.alternatives:
        answer["alternatives"] = [one.alternatives for one in found]
    if source is None:
        answer["detectedLanguage"] = [_taken_for(model.languages.source) for _ in found]
    if isinstance(asked.q, str):
        answer = {name: values[0] for name, values in answer.items()}
    return JSONResponse(answer)


@router.get("/languages")
async def languages(service: TheService) -> JSONResponse:
    """List the languages, and into which of them each can be translated."""
    targets: dict[str, list[str]] = {}
    for pair in service.models.pairs:
        own = targets.setdefault(pair.source, [])
        if pair.target not in own:
            own.append(pair.target)
        targets.setdefault(pair.target, [])
    return JSONResponse(
        [{"code": tag, "name": name_of(tag), "targets": own} for tag, own in targets.items()]
    )


@router.post("/detect", responses=PROBLEMS, openapi_extra=described(DetectRequest))
async def detect(request: Request, service: TheService) -> JSONResponse:
    """List the source languages of the models, with confidence 0: nothing is detected."""
    fields = await read_fields(request)
    _check_key(request, service, fields)
    asked = checked(DetectRequest, fields)
    found = [_taken_for(tag) for tag in service.models.sources]
    return JSONResponse(found if isinstance(asked.q, str) else [found for _ in asked.q])


@router.get("/frontend/settings")
async def frontend_settings(service: TheService) -> JSONResponse:
    """Describe the server to pages that are made for LibreTranslate."""
    first = next(iter(service.models)).languages
    return JSONResponse(
        {
            "apiKeys": bool(service.keys),
            "keyRequired": bool(service.keys),
            "charLimit": service.limits.body_bytes,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "frontendTimeout": 500,
            "suggestions": False,
            "language": {
                "source": {"code": first.source, "name": name_of(first.source)},
                "target": {"code": first.target, "name": name_of(first.target)},
            },
        }
    )


def _check_key(request: Request, service: Service, fields: Fields) -> None:
    key = fields.get("api_key")
    service.keys.check(key if isinstance(key, str) and key else key_in_header(request))


def _taken_for(tag: str) -> dict[str, Any]:
    return {"language": tag, "confidence": 0.0}
