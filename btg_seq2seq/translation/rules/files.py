"""Rules from files and from the command line.

A file has one rule per line with the columns source, target, mode and case; the last two may be
missing. Columns are separated by tabs or, in ``.csv`` and ``.csv.gz`` files, by commas. Several
forms of the source, and several targets, are separated by ``|||``. Lines of a Moses phrase table
are preferred rules.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import read_lines
from btg_seq2seq.text.bitext import BYTE_ORDER_MARK
from btg_seq2seq.translation.rules.rules import CasePolicy, Rule

SEPARATOR = "|||"
COLUMNS = ("source", "target", "mode", "case")


def read_rules(path: str | Path, case: CasePolicy | None = None) -> list[Rule]:
    """Read a file of rules; empty lines and a first line that names the columns are skipped.

    ``case`` is that of rules that do not say so themselves.
    """
    path = Path(path)
    return _rules(read_lines(path), str(path), ".csv" in path.suffixes[-2:], case)


def parse_rules(
    content: bytes, name: str, is_csv: bool = False, case: CasePolicy | None = None
) -> list[Rule]:
    """Read rules from the content of a file; ``name`` is for messages."""
    try:
        text = content.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}: line {line} is not UTF-8; convert it") from error
    return _rules([line.removesuffix("\r") for line in text.split("\n")], name, is_csv, case)


def _rules(lines: Sequence[str], name: str, is_csv: bool, case: CasePolicy | None) -> list[Rule]:
    rules = []
    for number, fields in _rows(lines, name, is_csv):
        place = f"{name}:{number}"
        if number == 1 and tuple(field.strip().lower() for field in fields[:2]) == COLUMNS[:2]:
            continue
        if len(fields) == 1 and fields[0].count(SEPARATOR) >= 2:
            rules.append(_moses_rule(fields[0], place))
            continue
        rules += _rules_of_line(fields, place, case)
    return rules


def _rules_of_line(fields: Sequence[str], place: str, case: CasePolicy | None = None) -> list[Rule]:
    """Rules of a line: one for each form of the source."""
    if not 2 <= len(fields) <= len(COLUMNS):
        raise UserError(
            f"{place}: {len(fields)} columns, but a rule has 2 to 4: source, target, mode, "
            "case; they are separated by tabs, in .csv files by commas"
        )
    values: dict[str, Any] = dict(zip(COLUMNS, (field.strip() for field in fields), strict=False))
    targets = values["target"].split(SEPARATOR)
    options = {name: values[name].lower() for name in COLUMNS[2:] if values.get(name)}
    if case is not None:
        options.setdefault("case", case)
    forms = values["source"].split(SEPARATOR)
    return [Rule(form, targets, place=place, **options) for form in forms]


def parse_rule(text: str, place: str = "--rule") -> Rule:
    """Read ``source=target``, or ``source`` alone for a rule that keeps the source.

    A text with tabs is read like a line of a file.
    """
    if "\t" in text:
        rules = _rules_of_line(text.split("\t"), place)
        if len(rules) > 1:
            raise UserError(f"{place}: {len(rules)} sources; give a rule for each of them")
        return rules[0]
    source, equals, target = text.partition("=")
    if not equals:
        return Rule(source, mode="keep", place=place)
    return Rule(source, target.split(SEPARATOR), place=place)


def _rows(lines: Sequence[str], name: str, is_csv: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each rule, and the number of the line on which it begins."""
    if is_csv:
        # The reader must see line breaks: within quotes they are white space.
        reader = csv.reader((f"{line}\n" for line in lines), strict=True)
        number = 1
        try:
            for fields in reader:
                if any(field.strip() for field in fields):
                    yield number, fields
                number = reader.line_num + 1
        except csv.Error as error:
            raise UserError(f"{name}:{number}: {error}") from error
    else:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line.split("\t")


def _moses_rule(line: str, place: str) -> Rule:
    source, target, *_ = line.split(SEPARATOR)
    return Rule(source, target, mode="prefer", place=place)
