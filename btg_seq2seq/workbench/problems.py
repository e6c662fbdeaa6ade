"""Errors as answers: which status an error has, and how each API writes it."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.scheduler import BusyError, ClosedError

logger = logging.getLogger(__name__)


class Problem(HTTPException):
    """A request that is refused, with a status and one line that says why.

    One of FastAPI's own, so that it passes when it is raised while a body is read.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, message, headers or {})
        self.status, self.message = status, message


def problem_of(error: BaseException) -> Problem:
    """Return the answer to an error; one that nobody expected has the status 500 and no details."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UserError):
        return Problem(400, " ".join(str(error).split()))
    if isinstance(error, BusyError):
        return Problem(429, str(error), {"Retry-After": str(error.retry_after)})
    if isinstance(error, TimeoutError):
        return Problem(504, "the request took longer than the deadline; send fewer sentences")
    if isinstance(error, ClosedError):
        return Problem(503, str(error), {"Retry-After": "5"})
    if isinstance(error, RequestValidationError):
        return Problem(422, _validation_message(error))
    if isinstance(error, StarletteHTTPException):
        return Problem(error.status_code, str(error.detail), dict(error.headers or {}))
    return Problem(500, "the server failed; its log says why")


def body_of(path: str, problem: Problem) -> dict[str, Any]:
    """Write a problem as the API of a path does."""
    if path.startswith(("/v2/", "/v3/")):  # DeepL
        return {"message": problem.message}
    if path == "/listPairs" or path.startswith("/apertium/"):
        return apertium_body(problem)
    return {"error": problem.message}


def apertium_body(problem: Problem) -> dict[str, Any]:
    """Write a problem as Apertium's APy does."""
    return {
        "status": "error",
        "code": problem.status,
        "message": problem.message,
        "explanation": problem.message,
    }


def answer(request: Request, error: BaseException) -> JSONResponse:
    """Answer a request with an error."""
    problem = problem_of(error)
    path, method = request.url.path, request.method
    if problem.status == 422 and not path.startswith("/v1/"):
        problem = Problem(400, problem.message)  # what the other APIs have for it
    if path == "/translate" and method in ("GET", "HEAD"):
        content = apertium_body(problem)
    else:
        content = body_of(path, problem)
    return JSONResponse(content, problem.status, dict(problem.headers or {}))


def add_handlers(app: FastAPI) -> None:
    """Answer every error that a handler raises."""

    async def handle(request: Request, error: Exception) -> JSONResponse:
        return answer(request, error)

    async def fail(request: Request, error: Exception) -> JSONResponse:
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return answer(request, error)

    for kind in (
        *(Problem, UserError, BusyError, TimeoutError, ClosedError),
        *(RequestValidationError, StarletteHTTPException),
    ):
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(Exception, fail)


def _validation_message(error: RequestValidationError) -> str:
    """Name the first field that is wrong; what was sent is not repeated."""
    for first in error.errors():
        place = ".".join(str(part) for part in first.get("loc", ())[1:])
        return f"{place or 'the body'}: {first.get('msg', 'is wrong')}"[:500]
    return "the request is not as described in /openapi.json"
