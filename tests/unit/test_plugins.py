"""Extensions of other packages: all are loaded, and a broken one is named."""

from importlib.metadata import EntryPoint

from checks import refused

from btg_seq2seq import plugins


def offer(monkeypatch, *values):
    found = [
        EntryPoint(f"number {rank}", value, plugins.GROUP) for rank, value in enumerate(values)
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: found)


def test_modules_are_imported(monkeypatch, tmp_path):
    (tmp_path / "first_extension.py").write_text("import sys; sys.extended = True")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.extended", False, raising=False)
    offer(monkeypatch, "first_extension")
    plugins.load_plugins()
    import sys

    assert sys.extended


def test_broken_ones_are_named(monkeypatch):
    offer(monkeypatch, "json", "btg_seq2seq.nowhere")
    with refused("number 1", "btg_seq2seq.nowhere", "ModuleNotFoundError", "uninstall"):
        plugins.load_plugins()


def test_none_are_installed_here():
    plugins.load_plugins()
