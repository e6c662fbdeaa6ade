"""The application as a whole: page, description, several models."""

from importlib import import_module
from inspect import iscoroutinefunction

from tiny_servers import serving

from btg_seq2seq.drawing.colours import style_sheet
from btg_seq2seq.workbench.app import APIS, PAGE


def test_the_page_and_its_files():
    with serving() as client:
        page = client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        for name in ("app.js", "style.css"):
            assert (PAGE / name).is_file()
            assert client.get(f"/{name}").status_code == 200
        assert client.get("/drawing.css").text.startswith(style_sheet("auto"))
        assert client.get("/../app.py").status_code == 404
        assert client.get("/%2e%2e/app.py").status_code == 404


def test_the_page_has_nothing_inline_and_loads_nothing_from_elsewhere():
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "<style" not in text
    assert "style=" not in text
    assert "onclick=" not in text
    assert "http" not in text


def test_the_description_has_every_api_and_its_limits():
    with serving() as client:
        description = client.get("/openapi.json").json()
        tags = {
            tag
            for path in description["paths"].values()
            for operation in path.values()
            for tag in operation["tags"]
        }
        assert tags == {"btg", "LibreTranslate", "Apertium", "DeepL", "DeepL glossaries"}
        assert str(client.service.limits.body_bytes) in description["info"]["description"]
        references = str(description).count("$ref")
        assert references
        for reference in _references(description):
            place = description
            for name in reference.removeprefix("#/").split("/"):
                place = place[name]


def _references(value):
    if isinstance(value, dict):
        for name, own in value.items():
            if name == "$ref":
                yield own
            else:
                yield from _references(own)
    elif isinstance(value, list):
        for own in value:
            yield from _references(own)


def test_no_dependency_or_handler_needs_a_thread():
    """FastAPI runs plain functions in a thread, which costs more than what they do."""

    def calls(dependant):
        yield dependant.call
        for one in dependant.dependencies:
            yield from calls(one)

    routes = [
        route
        for name in APIS
        for route in import_module(f"btg_seq2seq.workbench.api.{name}").router.routes
    ]
    names = {call.__name__ for route in routes for call in calls(route.dependant)}
    assert {"service_of", "keyed"} <= names
    assert all(iscoroutinefunction(call) for route in routes for call in calls(route.dependant))
