"""The API of Apertium's APy, which OmegaT and other programs speak.

Written from its public documentation. ``POST /translate`` is in ``libretranslate``, which has the
same address; requests with a ``langpair`` are answered here.
"""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from btg_seq2seq.workbench.api.answers import PROBLEMS
from btg_seq2seq.workbench.api.bodies import Fields, checked
from btg_seq2seq.workbench.api.documents import translate_documents
from btg_seq2seq.workbench.keys import key_in_header
from btg_seq2seq.workbench.problems import Problem, apertium_body, problem_of
from btg_seq2seq.workbench.service import Service, TheService

router = APIRouter(tags=["Apertium"])


class PairRequest(BaseModel):
    """A text to translate."""

    q: str
    langpair: str = Field(pattern=r"^[^|]+\|[^|]+$", examples=["de|en"])
    format: Literal["txt", "html"] = "txt"
    key: str | None = None


@router.get("/translate", responses=PROBLEMS)
async def translate(
    request: Request,
    service: TheService,
    q: str = Query(description="text"),
    langpair: str = Query(examples=["de|en"], description="source and target language"),
) -> JSONResponse:
    """Translate a text of any number of sentences; ``format=html`` for HTML."""
    return await translate_pair(request, service, dict(request.query_params))


@router.get("/listPairs")
async def list_pairs(service: TheService) -> JSONResponse:
    """List source and target language of each model."""
    pairs = [
        {"sourceLanguage": pair.source, "targetLanguage": pair.target}
        for pair in service.models.pairs
    ]
    return _answer(pairs)


@router.get("/list", responses=PROBLEMS)
async def list_modes(service: TheService, q: str = "pairs") -> JSONResponse:
    """List pairs; there are no analysers, generators or taggers."""
    return await list_pairs(service) if q == "pairs" else JSONResponse({})


async def translate_pair(request: Request, service: Service, fields: Fields) -> JSONResponse:
    """Answer a request with a ``langpair``."""
    try:
        asked = checked(PairRequest, fields)
        service.keys.check(asked.key or key_in_header(request))
        model = service.models.between(*asked.langpair.split("|"))
        markup: Literal["text", "html"] = "html" if asked.format == "html" else "text"
        found = await translate_documents(service, model, [asked.q], markup=markup)
    except Exception as error:
        problem = problem_of(error)
        if problem.status == 500:
            raise
        return JSONResponse(apertium_body(problem), problem.status, _headers(problem))
    return _answer({"translatedText": found[0].text})


def _headers(problem: Problem) -> dict[str, str]:
    return dict(problem.headers or {})


def _answer(data: Any) -> JSONResponse:
    return JSONResponse({"responseData": data, "responseDetails": None, "responseStatus": 200})
