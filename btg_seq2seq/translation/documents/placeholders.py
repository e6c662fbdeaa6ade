"""Placeholders of a text: what a program, not a reader, gives a meaning to.

They are copied into the translation: format specifiers, names in braces, entities, addresses of the
web and of mail. Tags are not among them: ``markup`` takes them out and ``put_back`` puts them back.
"""

from __future__ import annotations

import regex

from btg_seq2seq.grammar import Span

# Possessive quantifiers throughout: no text makes the search slow.
PLACEHOLDER = regex.compile(
    r"""
    (?<![\w@.]) (?: https?|ftp|file|wss? ) :// [^\s<>"“”„«»{}|\\^`]++
  | (?<![\w@.]) (?: mailto | tel ) : [^\s<>"]++
  | (?<![\w@./]) www\. [\w-]++ (?: \. [\w-]++ )++ (?: [/?\#] [^\s<>"“”„«»]*+ )?+
  | (?<![\w.+-]) [\w.+-]{1,64}+ @ [\w-]++ (?: \. [\w-]++ )++  # name@example.org
  | \{\{ [^{}\n]{1,200}+ \}\}                                 # {{ name }}
  | \{% [^{}%\n]{1,200}+ %\}                                  # {% tag %}
  | [$\#]? \{ [^{}\s]{0,200}+ \}                              # {name}, ${name}, {}
  | % [A-Z_] [A-Z0-9_]{1,63}+ %                               # %NAME%
  | %% | (?<!\d) %
      (?: \( [^()\n]{1,200}+ \) | \d{1,2}+ \$ )?+             # %(name)s, %1$s
      [-+\#0]*+ (?: \d++ | \* )?+ (?: \. (?: \d++ | \* ) )?+  # %-5.2f
      (?: hh? | ll? | [Lqjzt] )?+ [diouxXeEfFgGaAcCsSp@]
  | & (?: [A-Za-z][A-Za-z0-9]{1,31}+ | \#\d{1,7}+ | \#[xX][0-9a-fA-F]{1,6}+ ) ;
    """,
    regex.VERBOSE,
)
ADDRESS = regex.compile(r"[a-z]+:|www\.|[^%{&]*@", regex.IGNORECASE)
# A sentence's punctuation after an address is none of it; brackets are if they open in it.
TRAILING = ".,;:!?'\"…)]}" + "\u3001\u3002\uff01\uff09\uff0c\uff1a\uff1b\uff1f\u300d\u300f"
OPENING = {")": "(", "]": "[", "}": "{"}


def placeholders(text: str) -> list[Span]:
    """Characters of each placeholder of a text, from left to right."""
    spans = []
    for match in PLACEHOLDER.finditer(text):
        found = match.group()
        if ADDRESS.match(found):
            found = _without_punctuation(found)
        if found:
            spans.append((match.start(), match.start() + len(found)))
    return spans


def _without_punctuation(address: str) -> str:
    while address and address[-1] in TRAILING:
        opening = OPENING.get(address[-1])
        if opening is not None and address.count(opening) >= address.count(address[-1]):
            break
        address = address[:-1]
    return address
