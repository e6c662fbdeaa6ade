"""Placeholders are found, and words that look a little like them are not."""

import time

import pytest

from btg_seq2seq.translation.documents.placeholders import placeholders


def found(text):
    return [text[slice(*span)] for span in placeholders(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {name} {0} {} ${x} #{y} {{ user.name }} {% if a %}",
         ["{name}", "{0}", "{}", "${x}", "#{y}", "{{ user.name }}", "{% if a %}"]),
        ("%s %d%% %(x)d %1$s %-5.2f %@ %lld %PATH%",
         ["%s", "%d", "%%", "%(x)d", "%1$s", "%-5.2f", "%@", "%lld", "%PATH%"]),
        ("50% der 3 % sind 5%ig", []),
        ("&nbsp; &#39; &#x27; R&D; A & B", ["&nbsp;", "&#39;", "&#x27;"]),
        ("(https://x.org/a_(b)?c=d#e), www.x.org.", ["https://x.org/a_(b)?c=d#e", "www.x.org"]),
        ("see https://x.org. mail me@x.org!", ["https://x.org", "me@x.org"]),
        ("mailto:me@x.org and @name and a@b", ["mailto:me@x.org"]),
        ("{ not a name } {a b}", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_a_placeholder(text, expected):
    assert found(text) == expected


def test_no_text_makes_the_search_slow():
    started = time.process_time()
    for part in ("{", "%(", "a@", "&#", "www.", "{{", "http://", "a.", "%1"):
        placeholders(part * 20_000)
    assert time.process_time() - started < 20  # quadratic time would be hours
