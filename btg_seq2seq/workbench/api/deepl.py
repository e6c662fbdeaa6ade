"""The API of DeepL, version 2: translation and languages; glossaries are in ``deepl_glossaries``.

Written from its public documentation. What a model cannot do, such as another formality, is
refused and not ignored.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator

from btg_seq2seq.translation.documents.markup import Markup
from btg_seq2seq.translation.documents.reading import Cut
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.workbench.api.answers import DEEPL_PROBLEMS
from btg_seq2seq.workbench.api.bodies import checked, described, read_fields
from btg_seq2seq.workbench.api.documents import translate_documents
from btg_seq2seq.workbench.glossaries import rules_for
from btg_seq2seq.workbench.languages import matches, name_of
from btg_seq2seq.workbench.models import ServedModel
from btg_seq2seq.workbench.problems import Problem
from btg_seq2seq.workbench.service import Namespace, Service, TheService

router = APIRouter(tags=["DeepL"])
NO_QUOTA = 10**12
CUTS: dict[str, Cut] = {"0": "none", "1": "lines", "nonewlines": "paragraphs"}
REFUSED = ("style_id", "custom_instructions", "translation_memory_id")


class DeepLRequest(BaseModel):
    """Texts to translate."""

    text: list[str] = Field(description="texts of any number of sentences")
    target_lang: str = Field(examples=["EN"])
    source_lang: str | None = None
    glossary_id: str | None = Field(None, description="forced rules; needs source_lang")
    glossary_ids: list[str] = Field(default_factory=list, max_length=5)
    tag_handling: Literal["xml", "html"] | None = None
    ignore_tags: list[str] = Field(
        default_factory=list, max_length=100, description="elements that are copied"
    )
    split_sentences: Literal["0", "1", "nonewlines"] | None = None
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] | None = None
    show_billed_characters: bool = False

    @field_validator("text", "glossary_ids", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("ignore_tags", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """Separate names; forms have commas between them."""
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
            return value
        return [name.strip() for one in given for name in one.split(",") if name.strip()]

    @field_validator("split_sentences", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return str(int(value)) if isinstance(value, bool | int) else value

    @field_validator("source_lang", "glossary_id", "tag_handling", mode="before")
    @classmethod
    def _given(cls, value: Any) -> Any:
        return value or None


@router.post("/v2/translate", responses=DEEPL_PROBLEMS, openapi_extra=described(DeepLRequest))
async def translate(request: Request, service: TheService, owner: Namespace) -> JSONResponse:
    """Translate texts; the entries of a glossary are obeyed."""
    fields = await read_fields(request)
    asked = checked(DeepLRequest, fields)
    for name in REFUSED:
        if fields.get(name):
            raise Problem(400, f"{name} is not supported")
    if asked.formality in ("more", "less"):
        raise Problem(400, "formality is not supported for this target_lang")
    model = service.models.between(asked.source_lang, asked.target_lang)
    identifiers = [*filter(None, [asked.glossary_id]), *asked.glossary_ids]
    if identifiers and asked.source_lang is None:
        raise Problem(400, "a glossary needs source_lang")
    rules: list[Rule] = []
    for identifier in identifiers:
        rules += await asyncio.to_thread(
            glossary_rules, service, owner, identifier, model, asked.text
        )
    cut = CUTS[asked.split_sentences or ("nonewlines" if asked.tag_handling == "html" else "1")]
    markup: Markup = asked.tag_handling or "text"
    found = await translate_documents(
        service, model, asked.text, rules=rules, markup=markup, cut=cut, copied=asked.ignore_tags
    )
    detected = (asked.source_lang or model.languages.source).upper()
    answers = []
    for text, one in zip(asked.text, found, strict=True):
        answer: dict[str, Any] = {"detected_source_language": detected, "text": one.text}
        if asked.show_billed_characters:
            answer["billed_characters"] = len(text)
        answers.append(answer)
    return JSONResponse({"translations": answers})


def glossary_rules(
    service: Service, owner: str, identifier: str, model: ServedModel, texts: list[str]
) -> list[Rule]:
    """Return the rules of a glossary for the languages of a model; 404 if there is no such."""
    glossary = service.glossaries.get(owner, identifier)
    if glossary is None:
        raise Problem(404, "there is no such glossary")
    own = model.languages
    for pair in glossary.counts:
        if matches(pair[0], own.source) and matches(pair[1], own.target):
            entries = service.glossaries.entries(owner, identifier, pair)
            return rules_for(entries, texts, f"glossary {glossary.name}")
    raise Problem(400, f"the glossary has no entries from {own.source} to {own.target}")


@router.get("/v2/languages", responses=DEEPL_PROBLEMS)
async def languages(
    request: Request,
    service: TheService,
    owner: Namespace,
    type: Literal["source", "target"] | None = None,
) -> JSONResponse:
    """List the source languages, or with ``type=target`` the target languages."""
    asked = type or (await read_fields(request)).get("type")
    if asked not in (None, "source", "target"):
        raise Problem(400, "type is source or target")
    is_target = asked == "target"
    tags = service.models.targets if is_target else service.models.sources
    return JSONResponse(
        [
            {"language": tag.upper(), "name": name_of(tag)}
            | ({"supports_formality": False} if is_target else {})
            for tag in tags
        ]
    )


@router.get("/v2/usage", responses=DEEPL_PROBLEMS)
async def usage(service: TheService, owner: Namespace) -> JSONResponse:
    """Say that there is no quota: nothing counts against a limit that nobody reaches."""
    return JSONResponse({"character_count": 0, "character_limit": NO_QUOTA})
