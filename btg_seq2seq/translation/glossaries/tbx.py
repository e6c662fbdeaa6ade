"""TBX, the exchange format of term bases: version 3, and the older one of TBX-Basic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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

NAMESPACE = "urn:iso:std:iso:30042:ed-2"
# Terms with such a status are understood, but not written.
AVOIDED = ("deprecated", "superseded", "forbidden", "obsolete")


def read_tbx(content: bytes, name: str) -> tuple[list[Entry], str]:
    """Return the entries of a file, and its own source language, if it names one."""
    root = parse_xml(content, name)
    entries = []
    for number, element in enumerate(named(root, "termEntry", "conceptEntry"), 1):
        entry = Entry(number)
        entry.remark = " ".join(_text(note) for note in element if local_name(note) == "note")
        for section in named(element, "langSet", "langSec"):
            for group in named(section, "tig", "ntig", "termSec"):
                status = [
                    _text(note).lower()
                    for note in named(group, "termNote")
                    if note.get("type") in ("administrativeStatus", "normativeAuthorization")
                ]
                is_avoided = any(word in one for one in status for word in AVOIDED)
                for term in named(group, "term"):
                    entry.add(language_of(section), _text(term), is_avoided=is_avoided)
        entries.append(entry)
    return entries, language_of(root)


def write_tbx(rules: Sequence[Rule], source: str, target: str) -> bytes:
    """Write rules as entries with two languages."""
    root = new_root("tbx", NAMESPACE, style="dca", type="TBX-Basic", **{XML_LANG: source})
    header = new_element(new_element(root, "tbxHeader"), "fileDesc")
    new_element(new_element(header, "sourceDesc"), "p", "Rules of btg-seq2seq")
    body = new_element(new_element(root, "text"), "body")
    for number, (rule, sources) in enumerate(grouped(rules), 1):
        entry = new_element(body, "conceptEntry", id=f"c{number}")
        new_element(entry, "note", remark_of(rule))
        for language, terms in ((source, sources), (target, rule.targets or sources)):
            section = new_element(entry, "langSec", **{XML_LANG: language})
            for term in terms:
                new_element(new_element(section, "termSec"), "term", term)
    return write_xml(root)


def _text(element: Any) -> str:
    return "".join(element.itertext())
