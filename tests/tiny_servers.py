"""A server around a tiny model with random weights, without a network."""

from contextlib import contextmanager

from fastapi.testclient import TestClient
from tiny_translators import translator_of

from btg_seq2seq.workbench.app import create_app
from btg_seq2seq.workbench.guards import LOOPBACK
from btg_seq2seq.workbench.keys import Keys
from btg_seq2seq.workbench.languages import Languages
from btg_seq2seq.workbench.limits import Limits
from btg_seq2seq.workbench.models import Models, ServedModel
from btg_seq2seq.workbench.service import Service

HOUSE = "das Haus ist klein, von Grund auf"
FORCED = {"source": "Haus", "target": "dog"}


def served(name="tiny", pair=("de", "en"), kind="bpe", **options):
    return ServedModel(name, translator_of(kind), Languages(*pair), **options)


@contextmanager
def serving(*models, limits=None, keys=(), store=None, hosts=LOOPBACK, origins=()):
    """A client of a server; by default with one model from German to English."""
    service = Service(Models(models or [served()]), limits or Limits(), Keys(keys), store)
    app = create_app(service, hosts, origins)
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        client.service = service
        yield client


def offline(texts, mode=None, rules=(), nbest=1, kind="bpe"):
    return [one.to_json() for one in translator_of(kind).translate(texts, mode, rules, nbest)]


def assert_same_json(actual, expected, tolerance=1e-4):
    """Equal values, apart from rounding in another batch."""
    if isinstance(expected, dict):
        assert set(actual) == set(expected)
        for name, value in expected.items():
            assert_same_json(actual[name], value, tolerance)
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same_json(one, other, tolerance)
    elif isinstance(expected, float):
        assert abs(actual - expected) <= tolerance * max(1, abs(expected))
    else:
        assert actual == expected
