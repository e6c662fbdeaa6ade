"""Words of a translation are linked with the source words that they come from."""

from btg_seq2seq.grammar import Leaf
from btg_seq2seq.translation.documents.blocks import Block, Protected
from btg_seq2seq.translation.documents.pieces import SentencePieces, join_sentences
from btg_seq2seq.translation.documents.protected_rules import PLACE
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translation import TextDerivation, TextPhrase, Translation


def translation(source, text, *phrases):
    """Phrases are a span of the source, one of the target, and the rule, if they have one."""
    made = tuple(
        TextPhrase.between(
            source,
            text,
            units=(rank, rank + 1),
            source_span=phrase[0],
            target_span=phrase[1],
            log_prob=0.0,
            rule=phrase[2] if len(phrase) > 2 else None,
        )
        for rank, phrase in enumerate(phrases)
    )
    return Translation(text, 0.0, (), TextDerivation(Leaf(0, 1), made), source=source)


def cut(block, result):
    return SentencePieces(block, (0, len(block.plain)), result, "html").cut()


def shown(translated):
    return [(piece.space, piece.text, piece.word) for piece in translated.pieces]


def test_words_follow_their_phrase():
    result = translation("das rote Haus", "casa la roja", ((9, 13), (0, 4)), ((0, 9), (4, 12)))
    assert shown(cut(Block("das rote Haus"), result)) == [
        ("", "casa", 2),
        (" ", "la", 0),
        (" ", "roja", 1),
    ]


def test_words_that_are_alike_belong_together():
    result = translation("Rom sah ich", "I saw Rom", ((0, 11), (0, 9)))
    assert [piece.word for piece in cut(Block("Rom sah ich"), result).pieces] == [0, 1, 0]


def test_texts_are_escaped_and_protected_parts_are_written_as_they_were():
    keep = Rule("<x>", mode="keep", place=PLACE)
    block = Block("a <x>", protected=[Protected(2, 5, "&lt;x&gt;")])
    result = translation("a <x>", "<x> & b", ((2, 5), (0, 3), keep), ((0, 2), (3, 7)))
    assert shown(cut(block, result)) == [("", "&lt;x&gt;", 1), (" ", "&amp;", 0), (" ", "b", 0)]


def test_lost_parts_come_back_and_copies_go():
    block = Block("a {x} b", protected=[Protected(2, 5, "{x}")])
    result = translation("a {x} b", "A {x} {x} B", ((0, 2), (0, 5)), ((2, 7), (5, 11)))
    assert shown(cut(block, result)) == [("", "A", 0), (" ", "{x}", 1), (" ", "B", 2)]


def test_without_a_derivation():
    assert shown(cut(Block("a b"), Translation("x y", 0.0))) == [("", "x", 0), (" ", "y", 1)]
    assert shown(cut(Block("a b"), Translation("", 0.0))) == []


def test_sentences_are_joined_with_their_space():
    parts = [cut(Block("a"), Translation("x", 0.0)) for _ in range(3)]
    joined = join_sentences([("", parts[0]), ("\n", parts[1]), ("", parts[2])])
    assert [piece.space for piece in joined.pieces] == ["", "\n", " "]
    parts = [cut(Block("a"), Translation("日", 0.0)) for _ in range(2)]
    assert [p.space for p in join_sentences([("", parts[0]), ("", parts[1])]).pieces] == ["", ""]
