"""Glossaries in a database."""

import sqlite3
import threading

import pytest

from btg_seq2seq import Rule
from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.glossaries import GlossaryStore, TooManyError, rules_for

PAIR, BACK = ("de", "en"), ("en", "de")


@pytest.fixture
def store(tmp_path):
    store = GlossaryStore(tmp_path / "new" / "glossaries.sqlite", most=3, most_entries=5)
    yield store
    store.close()


def test_glossaries_survive_restarts(tmp_path):
    path = tmp_path / "glossaries.sqlite"
    store = GlossaryStore(path)
    made = store.create("me", "house", {PAIR: {"Haus": "house", "klein": "small"}})
    store.close()
    assert path.stat().st_mode & 0o077 == 0
    store = GlossaryStore(path)
    assert store.get("me", made.id) == made
    assert list(store.entries("me", made.id, PAIR).items()) == [
        ("Haus", "house"),
        ("klein", "small"),
    ]
    store.close()


def test_everybody_sees_their_own(store):
    mine = store.create("me", "a", {PAIR: {"x": "y"}})
    store.create("you", "b", {PAIR: {"x": "z"}})
    assert store.all("me") == [mine]
    assert store.get("you", mine.id) is None
    assert store.entries("you", mine.id, PAIR) == {}
    assert not store.delete("you", mine.id)
    assert not store.delete_dictionary("you", mine.id, PAIR)
    store.rename("you", mine.id, "stolen")
    store.update("you", mine.id, {PAIR: {"x": "w"}}, replace=True)
    assert store.get("me", mine.id) == mine
    assert store.entries("me", mine.id, PAIR) == {"x": "y"}


def test_changes(store):
    made = store.create("me", "a", {PAIR: {"x": "y"}})
    store.update("me", made.id, {PAIR: {"x": "z", "v": "w"}, BACK: {"y": "x"}})
    assert store.get("me", made.id).counts == {PAIR: 2, BACK: 1}
    assert store.entries("me", made.id, PAIR) == {"x": "z", "v": "w"}
    store.update("me", made.id, {PAIR: {"u": "t"}}, replace=True)
    assert store.entries("me", made.id, PAIR) == {"u": "t"}
    store.rename("me", made.id, "b")
    assert store.get("me", made.id).name == "b"
    assert store.delete_dictionary("me", made.id, BACK)
    assert not store.delete_dictionary("me", made.id, BACK)
    assert store.delete("me", made.id)
    assert store.entries("me", made.id, PAIR) == {}
    assert store.all("me") == []


def test_limits(store):
    with pytest.raises(TooManyError, match="5 entries"):
        store.create("me", "a", {PAIR: {str(n): "x" for n in range(6)}})
    assert store.all("me") == []
    for name in "abc":
        store.create("me", name, {PAIR: {"x": "y"}})
    with pytest.raises(TooManyError, match="3 glossaries"):
        store.create("me", "d", {PAIR: {"x": "y"}})
    first = store.all("me")[0]
    with pytest.raises(TooManyError):
        store.update("me", first.id, {PAIR: {str(n): "x" for n in range(6)}})
    assert store.entries("me", first.id, PAIR) == {"x": "y"}


def test_hostile_texts_are_only_texts(store):
    name = "'; DROP TABLE glossaries; --"
    made = store.create(name, name, {PAIR: {name: name}})
    assert store.entries(name, made.id, PAIR) == {name: name}
    assert store.get(name, name) is None


def test_threads(store):
    made = store.create("me", "a", {PAIR: {"x": "y"}})
    errors = []

    def change(number):
        try:
            for _ in range(20):
                store.update("me", made.id, {PAIR: {"x": str(number)}})
                store.entries("me", made.id, PAIR)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.entries("me", made.id, PAIR)["x"] in "0123"


def test_files_that_are_no_database(tmp_path):
    path = tmp_path / "text"
    path.write_text("no database " * 100, encoding="utf-8")
    with pytest.raises(UserError, match="no database for glossaries"):
        GlossaryStore(path)
    newer = tmp_path / "newer"
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(UserError, match="newer version"):
        GlossaryStore(newer)


def test_rules_of_entries_that_may_occur():
    entries = {"Haus": "house", "Straße im Ort": "street", "Katze": "cat"}
    rules = rules_for(entries, ["das HAUS", "die STRASSE"], "glossary g")
    assert rules == [
        Rule("Haus", "house", case="insensitive", place="glossary g"),
        Rule("Straße im Ort", "street", case="insensitive", place="glossary g"),
    ]
