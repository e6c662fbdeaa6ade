"""Rules from files and from the command line.

A file has one rule per line with the columns source, target, mode and case; the last two may be
missing. Columns are separated by tabs or, in ``.csv`` and ``.csv.gz`` files, by commas. Several
targets are separated by ``|||``. Lines of a Moses phrase table are preferred rules.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import read_lines
from btg_seq2seq.translation.rules.rules import Rule

SEPARATOR = "|||"
COLUMNS = ("source", "target", "mode", "case")


def read_rules(path: str | Path) -> list[Rule]:
    """Read a file of rules; empty lines and a first line that names the columns are skipped."""
    rules = []
    for number, fields in _rows(Path(path)):
        place = f"{path}:{number}"
        if number == 1 and tuple(field.strip().lower() for field in fields[:2]) == COLUMNS[:2]:
            continue
        if len(fields) == 1 and fields[0].count(SEPARATOR) >= 2:
            rules.append(_moses_rule(fields[0], place))
            continue
        rules.append(_rule(fields, place))
    return rules


def _rule(fields: Sequence[str], place: str) -> Rule:
    if not 2 <= len(fields) <= len(COLUMNS):
        raise UserError(
            f"{place}: {len(fields)} columns, but a rule has 2 to 4: source, target, mode, "
            "case; they are separated by tabs, in .csv files by commas"
        )
    values: dict[str, Any] = dict(zip(COLUMNS, (field.strip() for field in fields), strict=False))
    values["target"] = values["target"].split(SEPARATOR)
    options = {name: values.pop(name).lower() for name in COLUMNS[2:] if values.get(name)}
    return Rule(values["source"], values["target"], place=place, **options)


def parse_rule(text: str, place: str = "--rule") -> Rule:
    """Read ``source=target``, or ``source`` alone for a rule that keeps the source.

    A text with tabs is read like a line of a file.
    """
    if "\t" in text:
        return _rule(text.split("\t"), place)
    source, equals, target = text.partition("=")
    if not equals:
        return Rule(source, mode="keep", place=place)
    return Rule(source, target.split(SEPARATOR), place=place)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each rule, and the number of the line on which it begins."""
    lines = read_lines(path)
    if ".csv" in path.suffixes[-2:]:
        # The reader must see line breaks: within quotes they are white space.
        reader = csv.reader((f"{line}\n" for line in lines), strict=True)
        number = 1
        try:
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield number, fields
                number = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{path}:{number}: {error}") from error
    else:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line.split("\t")


def _moses_rule(line: str, place: str) -> Rule:
    source, target, *_ = line.split(SEPARATOR)
    return Rule(source, target, mode="prefer", place=place)
