"""The tokenizer for BLEU, chosen by the script of the references.

sacreBLEU's default, 13a, splits at spaces and punctuation. A Chinese or Japanese sentence would be
one word, and BLEU would be 0 unless whole sentences match.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from btg_seq2seq.text.words import Kind, kind_of

SAMPLE = 1000  # references looked at
KANA = ("\u3041", "\u30ff")  # hiragana and katakana
HAN = (("\u2e80", "\u2fdf"), ("\u3005", "\u3007"), ("\u3400", "\u9fff"), ("\uf900", "\ufaff"))


def tokenizer_for(references: Sequence[str]) -> str:
    """Name of a sacreBLEU tokenizer.

    ``zh`` for Chinese; for Japanese, ``ja-mecab`` if MeCab is installed; ``char`` for Japanese
    without MeCab and for other scripts without spaces, such as Thai; ``13a`` for everything else,
    including text in such a script whose words are separated by spaces.
    """
    words = unspaced = kana = han = spaced = 0
    for text in references[:SAMPLE]:
        previous: Kind | None = None
        for character in text:
            kind = kind_of(character)
            words += kind == "word" != previous
            if kind == "unspaced":
                unspaced += 1
                spaced += previous == "space"
                kana += KANA[0] <= character <= KANA[1]
                han += any(first <= character <= last for first, last in HAN)
            previous = previous if kind == "mark" else kind
    # In text that was cut into words, spaces precede about every second character.
    if unspaced <= words or spaced > unspaced / 5:
        return "13a"
    if kana > unspaced / 10:
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    return "zh" if han > unspaced / 2 else "char"
