"""Glossaries from and to files: TSV, CSV, TBX and TMX, by one name for each format."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.glossaries.tbx import read_tbx, write_tbx
from btg_seq2seq.translation.glossaries.terms import LANGUAGE, choose_languages, grouped, rules_of
from btg_seq2seq.translation.glossaries.tmx import read_tmx, write_tmx
from btg_seq2seq.translation.rules.files import COLUMNS, SEPARATOR, parse_rules, read_rules
from btg_seq2seq.translation.rules.rules import CasePolicy, Rule

Format = Literal["tsv", "csv", "tbx", "tmx"]
XML = ("tbx", "tmx")
MOST_BYTES = 2**26  # of a file in XML, which takes many times its size when it is read
MOST_RULES = 1_000_000


def format_of(path: str | Path) -> Format:
    """Format of a file by its name; anything unknown is a table with tabs."""
    suffixes = [suffix.lower().lstrip(".") for suffix in Path(path).suffixes]
    if suffixes[-1:] == ["gz"]:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return last if last in get_args(Format) else "tsv"  # type: ignore[return-value]


def read_glossary(
    path: str | Path, source: str = "", target: str = "", case: CasePolicy | None = None
) -> list[Rule]:
    """Read a file of rules in any format; see ``parse_glossary``."""
    path = Path(path)
    if format_of(path) not in XML:
        return read_rules(path, case)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: the file cannot be read: {error}") from error
    return parse_glossary(content, format_of(path), source, target, case, str(path))


def parse_glossary(
    content: bytes,
    form: Format,
    source: str = "",
    target: str = "",
    case: CasePolicy | None = None,
    name: str = "glossary",
) -> list[Rule]:
    """Read rules from the content of a file.

    Args:
        content: the bytes of the file.
        form: its format.
        source, target: languages to read, for formats that have several; needed if there are more
            than two, or if it is not clear which of them is the source.
        case: of rules that do not say so themselves. By default, terms of TBX and TMX match
            upper and lower case alike, and rules in tables mind case.
        name: of the file, for messages.
    """
    _check(form, source, target)
    if form not in XML:
        return parse_rules(content, name, form == "csv", case)
    if len(content) > MOST_BYTES:
        raise UserError(f"{name}: a file of this kind may have {MOST_BYTES} bytes; split it")
    entries, first = (read_tbx if form == "tbx" else read_tmx)(content, name)
    if not any(entry.terms for entry in entries):
        raise UserError(f"{name}: there are no terms in it")
    pair = choose_languages(entries, source, target, first, name)
    rules = list(rules_of(entries, *pair, case or "insensitive", name))
    if len(rules) > MOST_RULES:
        raise UserError(f"{name}: more than {MOST_RULES} rules; split it")
    return rules


def write_glossary(
    rules: Sequence[Rule], form: Format, source: str = "und", target: str = "und"
) -> bytes:
    """Write rules in a format; ``source`` and ``target`` are the languages in TBX and TMX."""
    _check(form, source, target)
    if form in XML:
        if source == target:
            target = "mul" if source == "und" else target
        return (write_tbx if form == "tbx" else write_tmx)(rules, source, target)
    rows = [COLUMNS] + [
        (
            f" {SEPARATOR} ".join(sources),
            f" {SEPARATOR} ".join(rule.targets),
            rule.mode,
            rule.case,
        )
        for rule, sources in grouped(rules)
    ]
    if form == "tsv":
        return "".join("\t".join(row) + "\n" for row in rows).encode()
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def _check(form: str, source: str, target: str) -> None:
    if form not in get_args(Format):
        raise UserError(f"the format is tsv, csv, tbx or tmx, not {form[:40]!r}")
    for language in (source, target):
        if language and not LANGUAGE.fullmatch(language):
            raise UserError(f"{language[:40]!r} is no code of a language, such as de or pt-BR")
