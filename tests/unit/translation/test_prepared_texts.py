"""Texts that are prepared once and translated with many rules."""

import pytest
from tiny_translators import TEXTS, check_obedience, check_provenance, same, translator_of

from btg_seq2seq import Rule
from btg_seq2seq.decoding import seq2seq_phrases
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.translation import prepared_texts
from btg_seq2seq.translation.prepared_texts import check_nbest, chunks


def test_texts_are_encoded_once_for_many_rules(monkeypatch):
    translator = translator_of("bpe")
    prepared = translator.prepare(TEXTS)
    plain = prepared.translate()
    for first, second in zip(plain, translator.translate(TEXTS, "cky"), strict=True):
        same(first, second)

    def never(*_):
        raise AssertionError("encoded again")

    monkeypatch.setattr(seq2seq_phrases, "encode_sources", never)
    rules = [Rule("Haus", "HOUSE"), Rule("dog", "cat")]
    with_rules = prepared.translate(rules)
    for translation in with_rules:
        check_provenance(translation)
    check_obedience(rules, with_rules[0])
    check_obedience(rules, with_rules[2])
    for first, second in zip(prepared.translate(), plain, strict=True):
        assert first == second
    monkeypatch.undo()
    for first, second in zip(translator.translate(TEXTS, rules=rules), with_rules, strict=True):
        same(first, second)


def test_a_sentence_whose_tokens_are_cut_is_encoded_again():
    translator = translator_of("bpe")
    prepared = translator.prepare(["the dog, it", "it"])
    plain = prepared.translate()
    rules = [Rule("dog", "cat")]
    check_obedience(rules, prepared.translate(rules)[0])
    assert prepared.translate() == plain


def test_chunks_keep_the_order_and_fit_into_memory(monkeypatch):
    sources = translator_of("word").read(["the dog saw", "it", "", "in the garden", "dog"])
    settings = DecodingSettings()
    assert [*chunks(sources, settings)] == [sources]
    assert [*chunks([], settings)] == []
    for name, most in (("CHUNK", 2), ("CHUNK_TOKENS", 4), ("CHUNK_SPLITS", 4)):
        with monkeypatch.context() as patch:
            patch.setattr(prepared_texts, name, most)
            found = [*chunks(sources, settings)]
        assert [source for chunk in found for source in chunk] == sources
        assert len(found) > 1
        sizes = {
            "CHUNK": len,
            "CHUNK_TOKENS": lambda chunk: sum(len(source.tokens) for source in chunk),
            "CHUNK_SPLITS": lambda chunk: sum(len(source.tokens) == 3 for source in chunk) * 4,
        }
        assert all(len(chunk) == 1 or sizes[name](chunk) <= most for chunk in found)


def test_no_more_translations_than_the_beam_holds():
    check_nbest(5, DecodingSettings(beam_size=5))
    for nbest in (0, 6):
        with pytest.raises(ValueError, match="between 1 and beam_size=5"):
            check_nbest(nbest, DecodingSettings(beam_size=5))
