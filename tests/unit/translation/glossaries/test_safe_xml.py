"""XML from strangers."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.glossaries.safe_xml import (
    language_of,
    named,
    new_element,
    new_root,
    parse_xml,
    write_xml,
)

LAUGHS = "<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {name} '{f'&{before};' * 10}'>"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "subset",
    [
        LAUGHS,
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1:9/x.dtd"> %x;',
    ],
)
@pytest.mark.parametrize("body", ["&x;", "&i;", "<a b='&i;'/>", ""])
def test_entities_are_refused(subset, body):
    with pytest.raises(UserError, match=r"g: (it declares entities|this is no XML)"):
        parse_xml(f"<!DOCTYPE r [{subset}]><r>{body}</r>".encode(), "g")


@pytest.mark.parametrize("content", [b"<a>", b"", b"\0\0", b"<a>" * 10**5])
def test_what_is_no_xml_is_refused(content):
    with pytest.raises(UserError, match="g: this is no XML"):
        parse_xml(content, "g")


def test_a_document_type_is_not_read():
    root = parse_xml(
        b"<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r lang='de'><!-- x --><a/></r>", "g"
    )
    assert language_of(root) == "de"
    assert len(named(root, "a")) == 1


def test_characters_that_xml_cannot_have_are_left_out():
    root = new_root("r")
    new_element(root, "a", "x\0\x0b\ufffey", name="\x01z")
    assert b'<a name="z">xy</a>' in write_xml(root)
