"""Fast-Align links words that occur together."""

import builtins

from checks import refused

from btg_seq2seq.training.phrase_pairs.word_alignment import fast_align

WORDS = {"a": "x", "b": "y", "c": "z", "d": "w"}
SOURCES = [list(text) for text in ("ab", "bc", "ca", "cd", "da", "bd", "abcd", "a", "b", "c", "d")]


def test_words_that_occur_together_are_linked():
    targets = [[WORDS[word] for word in source] for source in SOURCES]
    found = fast_align([*SOURCES, [], ["a"]] * 3, [*targets, ["x"], []] * 3)
    assert len(found) == 3 * len(SOURCES) + 6
    for source, links in zip(SOURCES, found, strict=False):
        assert links == [(place, place) for place in range(len(source))]
    assert found[len(SOURCES)] == found[len(SOURCES) + 1] == []  # an empty side


def test_without_the_aligner_an_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] == "thot":
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with refused("sil-thot", "pip install"):
        fast_align([["a"]], [["x"]])
