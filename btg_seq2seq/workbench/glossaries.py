"""Glossaries of clients, in an SQLite database that survives restarts.

A glossary has a dictionary for each pair of languages, and a dictionary has entries: phrases with
their translations. Every client, known by its key, sees its own glossaries only.
"""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.rules import Rule

Pair = tuple[str, str]  # source and target language
Entries = Mapping[str, str]  # translations by phrase
Row = tuple[str, str, str]  # id, name, time of creation

SCHEMA = """
CREATE TABLE IF NOT EXISTS glossaries (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, created TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS owners ON glossaries (owner, created);
CREATE TABLE IF NOT EXISTS entries (
    glossary TEXT NOT NULL REFERENCES glossaries (id) ON DELETE CASCADE,
    source_language TEXT NOT NULL, target_language TEXT NOT NULL,
    source TEXT NOT NULL, target TEXT NOT NULL,
    PRIMARY KEY (glossary, source_language, target_language, source)
);
"""
VERSION = 1


@dataclass(frozen=True)
class Glossary:
    """A glossary without its entries; ``counts`` has their number for each pair of languages."""

    id: str
    name: str
    created: str
    counts: dict[Pair, int]


class TooManyError(UserError):
    """More glossaries or entries than a client may have."""


class GlossaryStore:
    """All glossaries; every method may be called from any thread.

    Args:
        path: the database; ``None`` for one in memory.
        most: glossaries per owner.
        most_entries: entries per glossary.
    """

    def __init__(
        self, path: str | Path | None = None, most: int = 1000, most_entries: int = 20_000
    ) -> None:
        self.most, self.most_entries = most, most_entries
        self._lock = threading.Lock()
        where = ":memory:" if path is None else str(path)
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).touch(mode=0o600)  # glossaries are nobody else's business
            self._database = sqlite3.connect(where, check_same_thread=False, isolation_level=None)
            self._database.execute("PRAGMA foreign_keys = ON")
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                raise UserError(f"{where} was written by a newer version: choose another file")
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(SCHEMA)
            self._database.execute(f"PRAGMA user_version = {VERSION}")
        except sqlite3.Error as error:
            raise UserError(f"{where} is no database for glossaries: {error}") from error

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Change the database as a whole, or not at all."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    def create(self, owner: str, name: str, dictionaries: Mapping[Pair, Entries]) -> Glossary:
        """Store a new glossary."""
        identifier = str(uuid.uuid4())
        created = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        with self._changing() as database:
            query = "SELECT count(*) FROM glossaries WHERE owner = ?"
            if database.execute(query, [owner]).fetchone()[0] >= self.most:
                raise TooManyError(f"there are {self.most} glossaries already; delete one first")
            row = (identifier, owner, name, created)
            database.execute("INSERT INTO glossaries VALUES (?, ?, ?, ?)", row)
            self._write(database, identifier, dictionaries)
        return Glossary(identifier, name, created, {p: len(e) for p, e in dictionaries.items()})

    def all(self, owner: str) -> list[Glossary]:
        """List the glossaries of a client, oldest first."""
        with self._lock:
            query = "SELECT id, name, created FROM glossaries WHERE owner = ? ORDER BY created, id"
            rows: list[Row] = self._database.execute(query, [owner]).fetchall()
            return [Glossary(*row, self._counts(row[0])) for row in rows]

    def get(self, owner: str, identifier: str) -> Glossary | None:
        """Return a glossary of a client, if there is such a one."""
        with self._lock:
            query = "SELECT id, name, created FROM glossaries WHERE owner = ? AND id = ?"
            row: Row | None = self._database.execute(query, [owner, identifier]).fetchone()
            return None if row is None else Glossary(*row, self._counts(identifier))

    def entries(self, owner: str, identifier: str, pair: Pair) -> dict[str, str]:
        """Return the entries of a dictionary; none if it is not there."""
        query = """SELECT source, target FROM entries JOIN glossaries ON glossary = id
            WHERE owner = ? AND id = ? AND source_language = ? AND target_language = ?
            ORDER BY entries.rowid"""
        with self._lock:
            return dict(self._database.execute(query, [owner, identifier, *pair]).fetchall())

    def rename(self, owner: str, identifier: str, name: str) -> None:
        """Give a glossary another name."""
        with self._changing() as database:
            query = "UPDATE glossaries SET name = ? WHERE owner = ? AND id = ?"
            database.execute(query, [name, owner, identifier])

    def update(
        self,
        owner: str,
        identifier: str,
        dictionaries: Mapping[Pair, Entries],
        replace: bool = False,
    ) -> None:
        """Add entries to dictionaries, or replace all entries of these."""
        with self._changing() as database:
            if self._is_owned(database, owner, identifier):
                if replace:
                    for pair in dictionaries:
                        self._clear(database, identifier, pair)
                self._write(database, identifier, dictionaries)

    def delete(self, owner: str, identifier: str) -> bool:
        """Delete a glossary; returns whether it was there."""
        with self._changing() as database:
            query = "DELETE FROM glossaries WHERE owner = ? AND id = ?"
            return database.execute(query, [owner, identifier]).rowcount > 0

    def delete_dictionary(self, owner: str, identifier: str, pair: Pair) -> bool:
        """Delete a dictionary; returns whether it was there."""
        with self._changing() as database:
            is_owned = self._is_owned(database, owner, identifier)
            return is_owned and self._clear(database, identifier, pair)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()

    def _write(
        self, database: sqlite3.Connection, identifier: str, dictionaries: Mapping[Pair, Entries]
    ) -> None:
        rows = [
            (identifier, *pair, source, target)
            for pair, entries in dictionaries.items()
            for source, target in entries.items()
        ]
        database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", rows)
        query = "SELECT count(*) FROM entries WHERE glossary = ?"
        if database.execute(query, [identifier]).fetchone()[0] > self.most_entries:
            raise TooManyError(f"a glossary has at most {self.most_entries} entries")

    @staticmethod
    def _is_owned(database: sqlite3.Connection, owner: str, identifier: str) -> bool:
        query = "SELECT 1 FROM glossaries WHERE owner = ? AND id = ?"
        return database.execute(query, [owner, identifier]).fetchone() is not None

    @staticmethod
    def _clear(database: sqlite3.Connection, identifier: str, pair: Pair) -> bool:
        query = """DELETE FROM entries
            WHERE glossary = ? AND source_language = ? AND target_language = ?"""
        return database.execute(query, [identifier, *pair]).rowcount > 0

    def _counts(self, identifier: str) -> dict[Pair, int]:
        query = """SELECT source_language, target_language, count(*) FROM entries
            WHERE glossary = ? GROUP BY 1, 2 ORDER BY min(rowid)"""
        rows = self._database.execute(query, [identifier]).fetchall()
        return {(source, target): count for source, target, count in rows}


def rules_for(entries: Entries, texts: Sequence[str], place: str) -> list[Rule]:
    """Return forced rules for the entries that may occur in some of the texts.

    Upper and lower case match alike. Most entries of a glossary are in none of the texts.
    """
    text = _normal("\n".join(texts))
    return [
        Rule(source, target, "force", "insensitive", place)
        for source, target in entries.items()
        if source.split() and _normal(source.split()[0]) in text
    ]


def _normal(text: str) -> str:
    """Fold case as rules do."""
    folded = unicodedata.normalize("NFC", text).casefold()
    return unicodedata.normalize("NFC", folded)
