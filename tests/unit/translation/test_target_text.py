"""Texts from tokens: parts tile the text, and the targets of rules stand in it as words."""

from itertools import pairwise

import pytest
from byte_level import byte_level_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation import target_text
from btg_seq2seq.translation.target_text import TargetWriter

CORPUS = ["the dog saw the dog, in the garden.", "the garden, the dog. it saw it, (the dog)"] * 5
TARGETS = ["from scratch", "dog", "ᎠᏂᏴᏫ", "从头", "s", "\u0301x", "e\u0301", "(", "42%", "'s", "ที่"]


@pytest.fixture(scope="module")
def writers():
    sizes = {"word": None, "bpe": 330, "unigram": 330}
    trained = {kind: train_tokenizer(kind, CORPUS, size) for kind, size in sizes.items()}
    trained["byte-level"] = byte_level_tokenizer(CORPUS)
    return {kind: TargetWriter(tokenizer) for kind, tokenizer in trained.items()}


def words(text):
    return [text[word.start : word.stop] for word in words_of(text)]


def contains_words(text, target):
    """Whether the target is in the text and both ends are word boundaries there."""
    ends = {end for word in words_of(text) for end in (word.start, word.stop)}
    place = text.find(target)
    while place >= 0:
        if {place, place + len(target)} <= ends:
            return True
        place = text.find(target, place + 1)
    return False


def parts_of(size):
    tokens = st.lists(st.integers(0, size - 1), max_size=4).map(tuple)
    given_part = st.tuples(st.just((5,)), st.sampled_from(TARGETS))
    return st.lists(st.one_of(st.tuples(tokens, st.none()), given_part), max_size=6)


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "byte-level"])
@given(data=st.data())
def test_targets_of_rules_are_words_of_the_text(writers, kind, data):
    writer = writers[kind]
    parts = data.draw(parts_of(len(writer.tokenizer)))
    text, spans = writer.write(parts)
    assert text == text.strip()
    assert "".join(text[start:stop] for start, stop in spans) == text
    assert len(spans) == len(parts)
    for (_, target), (start, stop) in zip(parts, spans, strict=True):
        if target is not None:
            assert text[start:stop].strip() == target
            assert contains_words(text, target)


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "byte-level"])
@given(data=st.data())
def test_without_rules_it_is_what_the_tokenizer_decodes(writers, kind, data):
    writer = writers[kind]
    rows = data.draw(st.lists(st.lists(st.integers(5, len(writer.tokenizer) - 1)), max_size=4))
    text, _ = writer.write([(tuple(row), None) for row in rows])
    tokens = [token for row in rows for token in row]
    assert text == writer.tokenizer.decode(tokens, skip_special_tokens=True).strip()


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "byte-level"])
@given(data=st.data())
def test_long_runs_are_decoded_in_parts(writers, kind, data):
    """What was decoded is not decoded again, and the phrases are the same as if it were."""
    writer = writers[kind]
    pieces = ["the ", "dog", "(", "é ", "从 ", "🙂 "]
    text = data.draw(st.lists(st.sampled_from(pieces), max_size=9))
    tokens = writer.encode_sentence("".join(text))
    posts = data.draw(st.lists(st.integers(0, len(tokens)), max_size=9).map(sorted))
    parts = [(tokens[i:k], None) for i, k in pairwise([0, *posts, len(tokens)])]
    parts = [((5,), "dog"), *parts] if data.draw(st.booleans()) else parts
    expected = writer.write(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target_text, "WINDOW", data.draw(st.integers(1, 4)))
        assert writer.write(parts) == expected


@pytest.mark.parametrize("kind", ["bpe", "byte-level"])
def test_the_time_to_decode_grows_with_the_length(writers, kind, monkeypatch):
    writer, counts, decode = writers[kind], [], TargetWriter._decode
    monkeypatch.setattr(
        TargetWriter,
        "_decode",
        lambda self, tokens: counts.append(len(tokens)) or decode(self, tokens),
    )
    for repetitions in (100, 1000):
        counts.clear()
        tokens = writer.encode_sentence("the dog, 从头 saw 🙂 it. " * repetitions)
        writer.write([(tokens[i : i + 5], None) for i in range(0, len(tokens), 5)])
        assert sum(counts) < 40 * len(tokens)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize(
    ("before", "target", "after", "expected"),
    [
        ("the", "cat", "▁dog", "the cat dog"),
        ("the (", "cat", ",", "the (cat,"),
        ("", "cat", ".", "cat."),
        ("the", "cat", "", "the cat"),
        ("在", "从头", "<0xE9> <0x87> <0x8C>", "在从头里"),
        ("在", "cat", "<0xE9> <0x87> <0x8C>", "在 cat里"),
    ],
)
def test_spaces(writers, kind, before, target, after, expected):
    writer = writers[kind]
    first = writer.tokenizer(before, add_special_tokens=False).input_ids
    last = writer.tokenizer.convert_tokens_to_ids(after.split())
    text, _ = writer.write([(tuple(first), None), ((5,), target), (tuple(last), None)])
    assert text == expected


def test_a_neighbour_does_not_grow_onto_a_target(writers):
    writer = writers["bpe"]
    suffix = writer.tokenizer.convert_tokens_to_ids("s")
    broken = writer.tokenizer.convert_tokens_to_ids("<0x80>")
    assert writer.write([((5,), "dog"), ((suffix,), None)])[0] == "dog s"
    assert writer.write([((5,), "dog"), ((5,), "house")])[0] == "dog house"
    assert writer.write([((5,), "ᎠᏂᏴᏫ"), ((broken,), None)])[0] == "ᎠᏂᏴᏫ�"


def test_words_that_the_tokenizer_keeps_apart_stay_apart(writers):
    writer = writers["word"]
    first = tuple(writer.tokenizer("the", add_special_tokens=False).input_ids)
    assert writer.write([(first, None), ((2,), "("), ((2,), "cat")])[0] == "the ( cat"


def test_tokens_of_a_target_are_those_of_words_within_a_sentence(writers):
    for writer in writers.values():
        sentence = writer.tokenizer("it, the saw", add_special_tokens=False).input_ids
        found = writer.encode("saw")
        assert tuple(sentence[-len(found) :]) == found
        assert writer.tokenizer.decode([*sentence, *found]) == "it, the saw saw"
