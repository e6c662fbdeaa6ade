"""``btg serve``: models behind an HTTP server, with the workbench as its page."""

from __future__ import annotations

import errno
import math
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from btg_seq2seq.console.arguments import (
    add_model_options,
    check_options,
    load_translator,
    many_models_parser,
)
from btg_seq2seq.console.messages import Messages
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.options.parser import OptionParser
from btg_seq2seq.workbench.languages import Languages, ModelSpec, parse_models
from btg_seq2seq.workbench.limits import Limits

if TYPE_CHECKING:
    from btg_seq2seq.workbench.glossaries import GlossaryStore
    from btg_seq2seq.workbench.keys import Keys
    from btg_seq2seq.workbench.models import ServedModel

DESCRIPTION = """Serve models over HTTP: a page to try them at /, our own API under /v1, and the
APIs of LibreTranslate, Apertium and DeepL, so that Weblate, OmegaT and other programs can use them.
A model is a directory, or NAME=DIRECTORY:SOURCE-TARGET with a name and its languages, such as
news=runs/news:de-en (a region or script follows an underscore: pt_BR-en). The server is reachable
from this computer alone unless --host says otherwise. /openapi.json describes all APIs."""

DEMO = Path("runs/demo")
EVERYWHERE = ("0.0.0.0", "::", "")
EXAMPLES = 3  # sentences that the page offers
LANES = 2  # threads that compute at the same time


def main(arguments: Sequence[str]) -> int:
    """Serve until stopped."""
    options = _parser().parse_args(arguments)
    _check_libraries()
    limits = Limits(**options.limits)
    specs = parse_models(options.models, options.languages)
    if not specs and not options.demo:
        raise UsageError("name the directory of a model, or use --demo")
    if not 0 <= options.port <= 65535:
        raise UsageError(f"--port must lie between 0 and 65535, not {options.port}")
    messages = Messages("serve", options.quiet)
    for spec in specs:
        check_options(_for_model(options, spec))
    from btg_seq2seq.workbench.glossaries import GlossaryStore
    from btg_seq2seq.workbench.keys import Keys

    keys = Keys() if options.key_file is None else Keys.read(options.key_file)
    store = GlossaryStore(
        options.glossaries or _data_directory() / "glossaries.sqlite",
        limits.glossaries,
        limits.glossary_entries,
    )
    with _listen(options.host, options.port) as listener:
        if options.demo:
            specs.append(_demo(options, messages))
        models = [_load(options, spec, limits, messages) for spec in specs]
        return _serve(options, limits, keys, store, models, listener, messages)


def _check_libraries() -> None:
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"btg serve needs {error.name}: install it with pip install 'btg-seq2seq[serve]'"
        ) from error


def _demo(options: Namespace, messages: Messages) -> ModelSpec:
    """Return the demonstration's model, which is trained if it is not there."""
    spec = ModelSpec("demo", str(DEMO / "btg"), Languages("en", "art"))
    if not (DEMO / "btg" / "config.json").exists():
        messages.say(f"there is no model in {spec.directory} yet; training it takes a few minutes")
        from btg_seq2seq.tasks import demo

        demo.run(DEMO, 0, options.quiet, suggestions=False)
    check_options(_for_model(options, spec))
    return spec


def _examples(spec: ModelSpec) -> list[str]:
    """Return sentences to try, which nobody could guess for the demonstration's invented task."""
    path = DEMO / "test.source"
    if spec.directory != str(DEMO / "btg") or not path.exists():
        return []
    return path.read_text(encoding="utf-8").splitlines()[:EXAMPLES]


def _for_model(options: Namespace, spec: ModelSpec) -> Namespace:
    """The options as a command with one model has them."""
    own = options.clone()
    own["model"] = spec.directory
    return own


def _load(options: Namespace, spec: ModelSpec, limits: Limits, messages: Messages) -> ServedModel:
    if options.threads is None:
        options["threads"] = max(1, (os.cpu_count() or 1) // LANES)
    translator = load_translator(_for_model(options, spec), messages)
    from btg_seq2seq.workbench.models import ServedModel

    cache_bytes = limits.cache_megabytes * 2**20
    model = ServedModel(spec.name, translator, spec.languages, cache_bytes, _examples(spec))
    model.warm_up()
    return model


def _data_directory() -> Path:
    """Return the directory in which programs keep the data of a user."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "btg-seq2seq"


def _listen(host: str, port: int) -> socket.socket:
    """Bind before models are loaded, so that a port in use is an error at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        remedy = "--port, or 0 for any that is free" if is_port else "--host, an address of its own"
        reason = str(error.strerror or error).partition(" (while")[0]  # it repeats the address
        raise UserError(
            f"cannot listen on {host}, port {port}: {reason}; choose another {remedy}"
        ) from error


def _serve(
    options: Namespace,
    limits: Limits,
    keys: Keys,
    store: GlossaryStore,
    models: list[ServedModel],
    listener: socket.socket,
    messages: Messages,
) -> int:
    import uvicorn

    from btg_seq2seq.workbench.app import create_app
    from btg_seq2seq.workbench.guards import LOOPBACK
    from btg_seq2seq.workbench.models import Models
    from btg_seq2seq.workbench.service import Service

    is_local = options.host in LOOPBACK
    if not is_local and not keys:
        messages.say(f"everybody who reaches {options.host} can use the server: see --key-file")
    hosts = [*(LOOPBACK if is_local else ()), *(options.hosts or [])]
    service = Service(Models(models), limits, keys, store, options.threads)
    app = create_app(service, hosts, options.origins or [])
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=math.ceil(limits.deadline),
        ws="none",
    )
    messages.say(_invitation(options.host, listener.getsockname()[1]))
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except (KeyboardInterrupt, SystemExit):
        messages.say("stopped")  # after it has finished what was under way
    return 0


def _invitation(host: str, port: int) -> str:
    """Say where the page is; no browser opens the addresses that stand for all of a computer."""
    if host in EVERYWHERE:
        where = f"port {port} of every address of this computer, such as http://127.0.0.1:{port}/"
        return f"listening on {where}; Ctrl-C stops the server"
    name = f"[{host}]" if ":" in host else host
    return f"open http://{name}:{port}/ in a browser; Ctrl-C stops the server"


def _parser() -> OptionParser:
    parser = many_models_parser("serve", DESCRIPTION)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all")
    parser.add_argument("--port", type=int, default=8000, help="port; 0 for any that is free")
    parser.add_argument(
        "--demo",
        action="store_true",
        help=f"serve the demonstration's model, {DEMO / 'btg'}; it is trained if it is not there",
    )
    parser.add_argument(
        "--languages",
        metavar="SOURCE-TARGET",
        help="languages of the models that are given without, such as de-en",
    )
    parser.add_argument(
        "--key-file", metavar="FILE", help="file with keys, one per line; clients need one of them"
    )
    parser.add_argument(
        "--glossaries",
        metavar="FILE",
        help="database of the glossaries that clients of DeepL's API create; unless given, "
        "btg-seq2seq/glossaries.sqlite in the user's data directory",
    )
    parser.add_argument(
        "--origins",
        action="append",
        metavar="ORIGIN",
        help="another site whose pages may use the server, such as https://example.org; may be "
        "repeated",
    )
    parser.add_argument(
        "--hosts",
        action="append",
        metavar="NAME",
        help="name of this server that clients may use, besides localhost; without --host, other "
        "names are refused. May be repeated",
    )
    add_model_options(parser)
    parser.add_class_arguments(Limits, "limits")
    return parser
