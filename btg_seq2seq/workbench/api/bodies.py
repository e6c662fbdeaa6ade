"""Requests of other APIs: fields from the address, from JSON, or from a form."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, ImmutableMultiDict, UploadFile

from btg_seq2seq.workbench.problems import Problem

Fields = dict[str, Any]
Model = TypeVar("Model", bound=BaseModel)
MOST_FIELDS = 1000


async def read_fields(request: Request) -> Fields:
    """Return the fields of a request; one that is repeated is a list.

    Some clients send a form with GET, too. Fields of the body go before those of the address.
    """
    fields = _plain(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
            return fields | _plain(form)
    body = await request.body()
    if not body.strip():
        return fields
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "the body is neither JSON nor a form") from error
    if not isinstance(values, dict):
        raise Problem(400, "the body must be a JSON object")
    return fields | values


def checked(kind: type[Model], fields: Fields) -> Model:
    """Check fields; the error names the first that is wrong."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise Problem(400, f"{place}: {first['msg']}"[:500]) from error


def described(kind: type[BaseModel], *, form: bool = True) -> dict[str, Any]:
    """Describe a body that ``read_fields`` reads, for OpenAPI."""
    schema = kind.model_json_schema()
    schema = _inlined(schema, schema.pop("$defs", {}))
    kinds = ["application/json", *(["application/x-www-form-urlencoded"] if form else [])]
    content = {name: {"schema": schema} for name in kinds}
    return {"requestBody": {"required": True, "content": content}}


def _inlined(value: Any, definitions: Fields) -> Any:
    """Put definitions where they are referred to."""
    if isinstance(value, dict):
        if "$ref" in value:
            return _inlined(definitions[value["$ref"].removeprefix("#/$defs/")], definitions)
        return {name: _inlined(own, definitions) for name, own in value.items()}
    if isinstance(value, list):
        return [_inlined(own, definitions) for own in value]
    return value


def _plain(values: ImmutableMultiDict[str, Any] | FormData) -> Fields:
    fields: Fields = {}
    for name in values:
        own = [value for value in values.getlist(name) if not isinstance(value, UploadFile)]
        fields[name] = own[0] if len(own) == 1 else own
    return fields
