"""What a translator refuses to read, always with the sentence."""

from dataclasses import replace

import pytest
from tiny_translators import TEXTS, every_kind, translator_of

from btg_seq2seq import Rule
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.translation.inputs import SentenceLengthError
from btg_seq2seq.translation.rules.rules import RuleSet

HALF = "the \ud800 dog"

# ---- texts and rules -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [(HALF, r"has half a character, '\\ud800'"), (None, "must be a string, not NoneType")],
)
def test_what_is_no_text(text, message):
    translator = translator_of("bpe")
    read, written = rf"^sentence 1: it {message}", rf"^sentence 1: its translation {message}"
    for mode in ("flat", "cky"):
        with pytest.raises(UserError, match=read):
            translator.translate(["the dog", text], mode)
    with pytest.raises(UserError, match=read):
        translator.prepare(["the dog", text])
    with pytest.raises(UserError, match=read):
        translator.score(["the", text], ["the", "the"])
    with pytest.raises(UserError, match=read):
        translator.align(["the", text], ["the", "the"])
    with pytest.raises(UserError, match=written):
        translator.align(["the", "the"], ["the", text])
    if text is not None:
        with pytest.raises(UserError, match=written):
            translator.score(["the", "the"], ["the", text])
        with pytest.raises(UserError, match=written):
            translator.prepare(["the", "the"]).score(["the", text])


def test_what_is_no_translation():
    translator = translator_of("bpe")
    message = "^sentence 1: its translation must be a string, a Translation or lists"
    with pytest.raises(UserError, match=message):
        translator.score(["the", "the"], ["the", None])
    with pytest.raises(UserError, match="2 sources, but 1 targets"):
        translator.prepare(["the", "the"]).score(["the"])


@pytest.mark.parametrize("rules", [["dog=cat"], "dog=cat", [Rule("dog", "cat"), None]])
def test_what_is_no_rule(rules):
    translator = translator_of("bpe")
    with pytest.raises(UserError, match=r"is no Rule: make one with Rule\(.*parse_rule"):
        translator.translate(["the dog"], rules=rules)
    with pytest.raises(UserError, match="is no Rule"):
        translator.prepare(["the dog"]).translate(rules)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (HALF, "x", "half a character"),
        ("x", ["y", HALF], "half a character"),
        (7, "x", "source and target of a rule are strings, not 7"),
        ("x", [7], "source and target of a rule are strings, not 7"),
        ("x", None, "the target of a rule is a string, or several, not None"),
    ],
)
def test_rules_that_are_no_texts(source, target, message):
    with pytest.raises(UserError, match=f"^f:3: .*{message}"):
        Rule(source, target, place="f:3")


# ---- lengths -------------------------------------------------------------------------------


def test_a_text_with_too_many_tokens():
    translator = translator_of("word")
    exact, longer = "the " * 1024, "the " * 1025
    message = "has 1025 tokens, more than max_length = 1024; split it into sentences, or raise"
    assert len(translator.read(["", exact])[1].tokens) == 1024
    for call in (
        lambda: translator.translate(["the", longer]),
        lambda: translator.translate(["the", longer], rules=[Rule("the", "x")]),
        lambda: translator.prepare(["the", longer]),
        lambda: translator.score(["the", longer], ["the", "the"]),
        lambda: translator.align(["the", longer], ["the", "the"]),
    ):
        with pytest.raises(SentenceLengthError, match=f"^sentence 1: it {message}"):
            call()
    with pytest.raises(SentenceLengthError, match=f"^sentence 1: its translation {message}"):
        translator.align(["the", "the"], ["the", longer])
    translator.align(["the"], [exact])
    with pytest.raises(SentenceLengthError, match=r"has 3 tokens, more than max_length = 2"):
        translator.translate(["the dog saw"], max_length=2)
    translator.translate(["the dog saw"], max_length=3)
    with pytest.raises(UserError, match="max_length must be 1 or more, not 0"):
        DecodingSettings(max_length=0)


def test_what_was_translated_can_be_scored():
    """A translation may have more tokens than a source, and not more than translation writes."""
    translator = translator_of("word")
    options = {"max_length": 2, "max_output_ratio": 2.0, "max_output_extra": 1}
    translator.score(["the dog"], ["the dog saw the dog"], **options)
    with pytest.raises(
        SentenceLengthError,
        match=r"^sentence 0: its translation has 6 tokens, but with max_length = 2 no more than 5",
    ):
        translator.score(["the dog"], ["the dog saw the dog saw"], **options)


def test_a_huge_text_is_refused_before_it_is_tokenized(monkeypatch):
    translator = translator_of("word")
    monkeypatch.setattr(translator.reader, "read", None)
    monkeypatch.setattr(translator.writer, "encode_sentence", None)
    huge = "the " * 2**20
    message = f"has {len(huge)} characters, too many for max_length = "
    with pytest.raises(SentenceLengthError, match=f"^sentence 0: it {message}1024 tokens; split"):
        translator.translate([huge])
    with pytest.raises(SentenceLengthError, match=f"^sentence 0: its translation {message}"):
        translator.check_target(huge)


# ---- texts that are not what their tokens read as ------------------------------------------

RULES = [Rule("Haus", "HOUSE(x)"), Rule("dog", ["cat", "zzz"]), Rule("klein", mode="keep")]


@every_kind
@pytest.mark.parametrize("rules", [[], RULES])
def test_an_edited_text_is_not_scored_by_its_old_tokens(kind, rules):
    translator = translator_of(kind)
    texts = [*TEXTS, "unheard of words"]
    translations = translator.translate(texts, "cky", RuleSet(rules), nbest=3)
    translator.score(texts, translations)
    for translation in translations:
        for other in translation.alternatives:
            own = {"text": other.text, "variants": other.variants, "derivation": other.derivation}
            translator.score([translation.source], [replace(translation, **own)])
        for text in (f"{translation.text} dog", translation.text[:-1]):
            if not translation.variants or text == translation.text:  # it was empty
                continue
            # Where the model does not know a word, another one has the same score.
            if translator.writer.encode_sentence(text) in translation.variants:
                assert translator.tokenizer.unk_token_id in translation.variants[0]
                continue
            edited = replace(translation, text=text)
            with pytest.raises(UserError, match=r"^sentence 1: 'text' is not what 'variants'"):
                translator.score(["it", translation.source], ["it", edited])
            (score,) = translator.score([translation.source], [replace(edited, variants=())])
            assert [score] == translator.score([translation.source], [text])
