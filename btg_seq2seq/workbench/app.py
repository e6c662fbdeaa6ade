"""The web application: all APIs, the page, and what guards them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

from btg_seq2seq import __version__
from btg_seq2seq.drawing.colours import MOST_HOVERED, hover_rules, style_sheet
from btg_seq2seq.workbench.guards import Guard
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.problems import add_handlers
from btg_seq2seq.workbench.service import Service

PAGE = Path(__file__).parent / "page"
APIS = ("own", "rule_files", "libretranslate", "apertium", "deepl", "deepl_glossaries")
TITLE = "btg serve"
DESCRIPTION = """Translation by phrases, with rules that are obeyed and derivations to look at.
A request may have {body_bytes} bytes, {sentences} sentences and {rules} rules, and takes at most
{deadline:g} seconds. Where keys are needed, send `Authorization: Bearer KEY`."""


def create_app(
    service: Service, hosts: Collection[str] = (), origins: Collection[str] = ()
) -> FastAPI:
    """Build the application.

    Args:
        service: models, queues, keys and limits.
        hosts: names of this server; empty for any.
        origins: other sites whose pages may use the APIs; none by default.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(
        title=TITLE, version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.service = service
    add_handlers(app)
    for name in APIS:
        app.include_router(import_module(f"btg_seq2seq.workbench.api.{name}").router)

    @app.get("/drawing.css", include_in_schema=False)
    async def drawing_css() -> Response:
        """Serve the styles of pictures, for pages that may not have styles inside."""
        return Response(DRAWING_STYLE, media_type="text/css")

    app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        )
    app.add_middleware(
        Guard, limits=service.limits, metrics=service.metrics, hosts=hosts, origins=origins
    )
    app.openapi = lambda: described(app, service.limits)  # type: ignore[method-assign]
    return app


DRAWING_STYLE = style_sheet("auto") + hover_rules("auto", MOST_HOVERED)


def described(app: FastAPI, limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI description, with the limits of this server in it."""
    if app.openapi_schema is None:
        values = {name: getattr(limits, name) for name in ("body_bytes", "sentences", "rules")}
        schema = get_openapi(
            title=app.title,
            version=app.version,
            description=DESCRIPTION.format(**values, deadline=limits.deadline),
            routes=app.routes,
        )
        schemas = schema["components"]["schemas"]
        bounds = {
            ("TranslateRequest", "texts"): limits.sentences,
            ("TranslateRequest", "rules"): limits.rules,
            ("AlignRequest", "pairs"): limits.sentences,
            ("ScoreRequest", "pairs"): limits.sentences,
        }
        for (name, field), most in bounds.items():
            schemas[name]["properties"][field]["maxItems"] = most
        app.openapi_schema = schema
    return app.openapi_schema
