"""A server around a tiny model, on a port of this computer."""

import socket
import threading
from contextlib import contextmanager

import uvicorn
from tiny_servers import served

from btg_seq2seq.workbench.app import create_app
from btg_seq2seq.workbench.guards import LOOPBACK
from btg_seq2seq.workbench.keys import Keys
from btg_seq2seq.workbench.models import Models
from btg_seq2seq.workbench.service import Service


@contextmanager
def listening(*models, **options):
    """The address of a server; by default with one model from German to English."""
    keys = Keys(options.pop("keys", ()))
    service = Service(Models(models or [served()]), keys=keys, **options)
    config = uvicorn.Config(create_app(service, LOOPBACK), log_level="error", ws="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(30)
