"""Glossary files for the page: rules out of a file, and rules as a file."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from btg_seq2seq.translation.glossaries.glossary import Format, parse_glossary, write_glossary
from btg_seq2seq.translation.rules.rules import CasePolicy
from btg_seq2seq.workbench.api.answers import PROBLEMS
from btg_seq2seq.workbench.api.own import GivenRule, Strict
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Namespace, TheService

router = APIRouter(tags=["btg"])
TYPES = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "tbx": "application/x-tbx+xml",
    "tmx": "application/x-tmx+xml",
}
FILE = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
Language = Annotated[
    str, Query(max_length=35, description="language to read, in a file with more than two")
]


class RulesAnswer(BaseModel):
    """Rules of a file."""

    rules: list[dict[str, Any]] = Field(description="as a request to translate has them")


class ExportRequest(Strict):
    """Rules to write into a file."""

    rules: list[GivenRule]
    format: Format = "tsv"
    source: str = Field("und", max_length=35, description="language of the sources")
    target: str = Field("und", max_length=35, description="language of the targets")


@router.post(
    "/v1/rules/import",
    responses={200: {"model": RulesAnswer}, **PROBLEMS},
    openapi_extra=FILE,
)
async def import_rules(
    request: Request,
    service: TheService,
    namespace: Namespace,
    format: Format = "tsv",
    source: Language = "",
    target: Language = "",
    case: CasePolicy = "insensitive",
) -> JSONResponse:
    """Read the rules in a glossary file, which is the body of the request.

    ``case`` is that of rules that do not say so themselves.
    """
    content = await request.body()
    rules = await asyncio.to_thread(
        parse_glossary, content, format, source, target, case, "the file"
    )
    if len(rules) > service.limits.rules:
        raise Problem(413, f"{len(rules)} rules, but at most {service.limits.rules} at a time")
    values = [rule.to_json() for rule in rules]
    for value in values:
        del value["place"]
    return JSONResponse({"rules": values})


@router.post(
    "/v1/rules/export",
    responses={
        200: {"content": {kind: {} for kind in TYPES.values()}, "description": "the file"},
        **PROBLEMS,
    },
)
async def export_rules(
    request: ExportRequest, service: TheService, namespace: Namespace
) -> Response:
    """Write rules into a glossary file."""
    rules = [rule.rule(number) for number, rule in enumerate(request.rules)]
    service.check_counts((), rules)
    content = await asyncio.to_thread(
        write_glossary, rules, request.format, request.source, request.target
    )
    return Response(
        content,
        media_type=TYPES[request.format],
        headers={"Content-Disposition": f'attachment; filename="rules.{request.format}"'},
    )
