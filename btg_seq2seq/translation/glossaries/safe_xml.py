"""XML from strangers: no entities, no external files, and nothing that grows.

Standard files name a document type, such as ``tmx14.dtd``; it is never read.
"""

from __future__ import annotations

from typing import Any

from lxml import etree

from btg_seq2seq.errors import UserError

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def parse_xml(content: bytes, name: str) -> Any:
    """Return the root element of a document; refuse entities of its own."""
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UserError(f"{name}: this is no XML: {error.msg}") from error
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and any(True for _ in subset.iterentities()):
        raise UserError(f"{name}: it declares entities, which are not read; remove them")
    return root


def local_name(element: Any) -> str:
    """Name of an element without its namespace; empty for what is no element."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def named(element: Any, *names: str) -> list[Any]:
    """All elements inside of an element with one of these names, in any namespace."""
    return [one for one in element.iter() if one is not element and local_name(one) in names]


def language_of(element: Any) -> str:
    """Language of an element: its ``xml:lang``, or ``lang`` of older files."""
    return str(element.get(XML_LANG) or element.get("lang") or "").strip()


def write_xml(root: Any, doctype: str | None = None) -> bytes:
    """Write a document in UTF-8."""
    content: bytes = etree.tostring(
        root, encoding="UTF-8", xml_declaration=True, pretty_print=True, doctype=doctype
    )
    return content


def new_element(parent: Any, tag: str, text: str | None = None, **attributes: str) -> Any:
    """Add an element; characters that XML cannot have are left out."""
    element = etree.SubElement(parent, tag, {key: _allowed(one) for key, one in attributes.items()})
    if text is not None:
        element.text = _allowed(text)
    return element


def new_root(tag: str, namespace: str | None = None, **attributes: str) -> Any:
    """Start a document."""
    return etree.Element(tag, attributes, nsmap={None: namespace} if namespace else None)


def _allowed(text: str) -> str:
    return "".join(
        one for one in text if one in "\t\n\r" or (one >= " " and one not in "\ufffe\uffff")
    )
