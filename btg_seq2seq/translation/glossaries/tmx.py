"""TMX, the exchange format of translation memories; short segments are terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from btg_seq2seq import __version__
from btg_seq2seq.translation.glossaries.safe_xml import (
    XML_LANG,
    language_of,
    local_name,
    named,
    new_element,
    new_root,
    parse_xml,
    write_xml,
)
from btg_seq2seq.translation.glossaries.terms import Entry, grouped, remark_of
from btg_seq2seq.translation.rules.rules import Rule

DOCTYPE = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
REMARK = "x-btg-rule"
CODES = ("bpt", "ept", "it", "ph", "ut", "sub")  # markup of other programs, no words


def read_tmx(content: bytes, name: str) -> tuple[list[Entry], str]:
    """Return the units of a file, and its own source language, if it names one."""
    root = parse_xml(content, name)
    header = next(iter(named(root, "header")), None)
    first = "" if header is None else str(header.get("srclang") or "")
    entries = []
    for number, unit in enumerate(named(root, "tu"), 1):
        entry = Entry(number)
        entry.remark = " ".join(
            str(own.text or "")
            for own in unit
            if local_name(own) == "prop" and own.get("type") == REMARK
        )
        for variant in named(unit, "tuv"):
            for segment in named(variant, "seg"):
                entry.add(language_of(variant), "".join(_words(segment)))
        entries.append(entry)
    return entries, "" if first == "*all*" else first


def write_tmx(rules: Sequence[Rule], source: str, target: str) -> bytes:
    """Write rules as units; several sources or targets are several variants."""
    root = new_root("tmx", version="1.4")
    new_element(
        root,
        "header",
        creationtool="btg-seq2seq",
        creationtoolversion=__version__,
        segtype="phrase",
        adminlang="en",
        srclang=source,
        datatype="plaintext",
        **{"o-tmf": "btg-seq2seq"},
    )
    body = new_element(root, "body")
    for rule, sources in grouped(rules):
        unit = new_element(body, "tu")
        new_element(unit, "prop", remark_of(rule), type=REMARK)
        for language, terms in ((source, sources), (target, rule.targets or sources)):
            for term in terms:
                variant = new_element(unit, "tuv", **{XML_LANG: language})
                new_element(variant, "seg", term)
    return write_xml(root, DOCTYPE)


def _words(element: Any) -> Iterator[str]:
    """Text of a segment without the codes in it."""
    if element.text:
        yield element.text
    for inside in element:
        if local_name(inside) not in CODES:
            yield from _words(inside)
        if inside.tail:
            yield inside.tail
