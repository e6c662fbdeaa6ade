"""Glossaries of DeepL's API, versions 2 and 3: sets of forced rules.

Version 2 knows glossaries of one pair of languages, version 3 of several. Written from the public
documentation.
"""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator

from btg_seq2seq.workbench.api.answers import DEEPL_PROBLEMS
from btg_seq2seq.workbench.api.bodies import checked, described, read_fields
from btg_seq2seq.workbench.glossaries import Glossary, GlossaryStore, Pair, TooManyError
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Namespace, Service, TheService

router = APIRouter(tags=["DeepL glossaries"], responses=DEEPL_PROBLEMS)
Result = TypeVar("Result")
TSV = "text/tab-separated-values"
LONGEST_PHRASE = 1024  # bytes


class Dictionary(BaseModel):
    """Entries for a pair of languages."""

    source_lang: str = Field(min_length=2, max_length=20, examples=["de"])
    target_lang: str = Field(min_length=2, max_length=20, examples=["en"])
    entries: str = Field(description="one entry per line: phrase, tab or comma, its translation")
    entries_format: Literal["tsv", "csv"] = "tsv"

    @field_validator("source_lang", "target_lang")
    @classmethod
    def _lower(cls, value: str) -> str:
        return value.lower()

    @property
    def pair(self) -> Pair:
        """The languages."""
        return self.source_lang, self.target_lang


class NewGlossary(Dictionary):
    """A glossary of one pair of languages."""

    name: str = Field(min_length=1, max_length=1024)


class NewGlossaries(BaseModel):
    """A glossary of several pairs of languages."""

    name: str = Field(min_length=1, max_length=1024)
    dictionaries: list[Dictionary] = Field(min_length=1, max_length=100)


class Changes(BaseModel):
    """Another name for a glossary, and entries to add."""

    name: str | None = Field(None, min_length=1, max_length=1024)
    dictionaries: list[Dictionary] = Field(default_factory=list, max_length=100)


# ---- version 2 -----------------------------------------------------------------------------


@router.post("/v2/glossaries", status_code=201, openapi_extra=described(NewGlossary))
async def create(request: Request, service: TheService, owner: Namespace) -> JSONResponse:
    """Create a glossary of one pair of languages."""
    asked = checked(NewGlossary, await read_fields(request))
    dictionaries = parsed([asked])
    made = await _store(service, lambda store: store.create(owner, asked.name, dictionaries))
    return JSONResponse(_described_v2(made), 201)


@router.get("/v2/glossaries")
async def list_all(service: TheService, owner: Namespace) -> JSONResponse:
    """List the glossaries of one pair of languages."""
    found = await _store(service, lambda store: store.all(owner))
    return JSONResponse({"glossaries": [_described_v2(one) for one in found if _is_single(one)]})


@router.get("/v2/glossaries/{identifier}")
async def get(identifier: str, service: TheService, owner: Namespace) -> JSONResponse:
    """Describe a glossary."""
    return JSONResponse(_described_v2(await _single(service, owner, identifier)))


@router.get("/v2/glossaries/{identifier}/entries", response_class=Response)
async def entries(identifier: str, service: TheService, owner: Namespace) -> Response:
    """Return the entries, separated by tabs."""
    found = await _single(service, owner, identifier)
    pair = next(iter(found.counts))
    own = await _store(service, lambda store: store.entries(owner, identifier, pair))
    return Response(to_tsv(own), media_type=TSV)


@router.delete("/v2/glossaries/{identifier}", status_code=204)
@router.delete("/v3/glossaries/{identifier}", status_code=204)
async def delete(identifier: str, service: TheService, owner: Namespace) -> Response:
    """Delete a glossary."""
    if not await _store(service, lambda store: store.delete(owner, identifier)):
        raise _missing()
    return Response(status_code=204)


@router.get("/v2/glossary-language-pairs")
async def language_pairs(service: TheService, owner: Namespace) -> JSONResponse:
    """List the pairs of languages that glossaries can be used for."""
    pairs = [
        {"source_lang": own.source.lower(), "target_lang": own.target.lower()}
        for own in service.models.pairs
    ]
    return JSONResponse({"supported_languages": pairs})


# ---- version 3 -----------------------------------------------------------------------------


@router.post("/v3/glossaries", status_code=201, openapi_extra=described(NewGlossaries, form=False))
async def create_many(request: Request, service: TheService, owner: Namespace) -> JSONResponse:
    """Create a glossary of several pairs of languages."""
    asked = checked(NewGlossaries, await read_fields(request))
    dictionaries = parsed(asked.dictionaries)
    made = await _store(service, lambda store: store.create(owner, asked.name, dictionaries))
    return JSONResponse(_described_v3(made), 201)


@router.get("/v3/glossaries")
async def list_many(service: TheService, owner: Namespace) -> JSONResponse:
    """List all glossaries."""
    found = await _store(service, lambda store: store.all(owner))
    return JSONResponse({"glossaries": [_described_v3(one) for one in found]})


@router.get("/v3/glossaries/{identifier}")
async def get_many(identifier: str, service: TheService, owner: Namespace) -> JSONResponse:
    """Describe a glossary."""
    return JSONResponse(_described_v3(await _found(service, owner, identifier)))


@router.patch("/v3/glossaries/{identifier}", openapi_extra=described(Changes, form=False))
async def change(
    identifier: str, request: Request, service: TheService, owner: Namespace
) -> JSONResponse:
    """Rename a glossary, or add entries to it."""
    asked = checked(Changes, await read_fields(request))
    await _found(service, owner, identifier)
    dictionaries = parsed(asked.dictionaries)
    if dictionaries:
        await _store(service, lambda store: store.update(owner, identifier, dictionaries))
    if asked.name is not None:
        name = asked.name
        await _store(service, lambda store: store.rename(owner, identifier, name))
    return JSONResponse(_described_v3(await _found(service, owner, identifier)))


@router.get("/v3/glossaries/{identifier}/entries")
async def entries_many(
    identifier: str, source_lang: str, target_lang: str, service: TheService, owner: Namespace
) -> JSONResponse:
    """Return the entries for a pair of languages."""
    pair = source_lang.lower(), target_lang.lower()
    await _found(service, owner, identifier)
    own = await _store(service, lambda store: store.entries(owner, identifier, pair))
    if not own:
        raise _missing("dictionary")
    dictionary = {"source_lang": pair[0], "target_lang": pair[1], "entries": to_tsv(own)}
    return JSONResponse({"dictionaries": [dictionary | {"entries_format": "tsv"}]})


@router.put(
    "/v3/glossaries/{identifier}/dictionaries", openapi_extra=described(Dictionary, form=False)
)
async def replace(
    identifier: str, request: Request, service: TheService, owner: Namespace
) -> JSONResponse:
    """Replace the entries for a pair of languages."""
    asked = checked(Dictionary, await read_fields(request))
    dictionaries = parsed([asked])
    await _found(service, owner, identifier)
    await _store(service, lambda store: store.update(owner, identifier, dictionaries, True))
    return JSONResponse(_described_pair(asked.pair, len(dictionaries[asked.pair])))


@router.delete("/v3/glossaries/{identifier}/dictionaries", status_code=204)
async def delete_dictionary(
    identifier: str, source_lang: str, target_lang: str, service: TheService, owner: Namespace
) -> Response:
    """Delete the entries for a pair of languages."""
    pair = source_lang.lower(), target_lang.lower()
    if not await _store(service, lambda store: store.delete_dictionary(owner, identifier, pair)):
        raise _missing("dictionary")
    return Response(status_code=204)


# ---- what both share -----------------------------------------------------------------------


def parsed(dictionaries: Sequence[Dictionary]) -> dict[Pair, dict[str, str]]:
    """Read the entries of dictionaries; a pair of languages may occur once."""
    result: dict[Pair, dict[str, str]] = {}
    for dictionary in dictionaries:
        if dictionary.pair in result:
            raise Problem(400, f"two dictionaries for {'-'.join(dictionary.pair)}")
        result[dictionary.pair] = parsed_entries(dictionary.entries, dictionary.entries_format)
    return result


def parsed_entries(text: str, kind: Literal["tsv", "csv"]) -> dict[str, str]:
    """Read entries: two columns, or in CSV four, the last of which name the languages."""
    lines = io.StringIO(text)
    if kind == "tsv":
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    else:
        reader = csv.reader(lines, strict=True)
    entries: dict[str, str] = {}
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != 2 and not (kind == "csv" and len(row) == 4):
                raise Problem(400, f"entries: line {reader.line_num} has {len(row)} columns, not 2")
            source, target = (_phrase(cell, reader.line_num) for cell in row[:2])
            if entries.setdefault(source, target) != target:
                raise Problem(400, f"entries: line {reader.line_num} contradicts an earlier one")
    except csv.Error as error:
        raise Problem(400, f"entries: line {reader.line_num}: {error}") from error
    if not entries:
        raise Problem(400, "entries: there are none")
    return entries


def to_tsv(entries: Mapping[str, str]) -> str:
    """Write entries, separated by tabs."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def _phrase(cell: str, line: int) -> str:
    """Return a phrase with single spaces, as rules have them."""
    phrase = " ".join(cell.split())
    if not phrase:
        raise Problem(400, f"entries: line {line} has an empty phrase")
    if len(phrase.encode()) > LONGEST_PHRASE:
        raise Problem(400, f"entries: a phrase in line {line} is longer than {LONGEST_PHRASE}")
    if not phrase.isprintable():
        raise Problem(400, f"entries: line {line} has a control character")
    return phrase


async def _store(service: Service, ask: Callable[[GlossaryStore], Result]) -> Result:
    """Ask the database, in another thread."""
    try:
        return await asyncio.to_thread(ask, service.glossaries)
    except TooManyError as error:
        raise Problem(413, str(error)) from error


async def _found(service: Service, owner: str, identifier: str) -> Glossary:
    glossary = await _store(service, lambda store: store.get(owner, identifier))
    if glossary is None:
        raise _missing()
    return glossary


async def _single(service: Service, owner: str, identifier: str) -> Glossary:
    """Return a glossary that version 2 can describe."""
    glossary = await _found(service, owner, identifier)
    if not _is_single(glossary):
        raise _missing()
    return glossary


def _is_single(glossary: Glossary) -> bool:
    return len(glossary.counts) == 1


def _missing(what: str = "glossary") -> Problem:
    return Problem(404, f"there is no such {what}")


def _described_v2(glossary: Glossary) -> dict[str, Any]:
    ((source, target), count), *_ = glossary.counts.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        "source_lang": source,
        "target_lang": target,
        "creation_time": glossary.created,
        "entry_count": count,
    }


def _described_v3(glossary: Glossary) -> dict[str, Any]:
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [_described_pair(*own) for own in glossary.counts.items()],
        "creation_time": glossary.created,
    }


def _described_pair(pair: Pair, count: int) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": count}
