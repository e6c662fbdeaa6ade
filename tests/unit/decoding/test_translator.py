"""Translations of texts: rules are obeyed whatever the weights, and every word has an origin."""

import math
from functools import cache
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import MarianConfig
from transformers.utils import logging

from btg_seq2seq import BTGSeq2Seq, Rule, Translation, Translator
from btg_seq2seq.cli.arguments import check_length
from btg_seq2seq.decoding import cky
from btg_seq2seq.decoding.assignment import Assignment
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.records import CkyResult, Hypothesis, PhraseRecord, hypothesis
from btg_seq2seq.decoding.results import to_translation
from btg_seq2seq.decoding.rules import RuleSet
from btg_seq2seq.decoding.settings import DecodingSettings
from btg_seq2seq.decoding.translator import SentenceLengthError
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.words import words_of

CORPUS = [
    "the dog saw the other dog in the garden, yes the dog.",
    "in the garden. the dog, the garden, it.",
    "das Haus ist klein, von Grund auf",
] * 3
KINDS = ["word", "bpe", "unigram"]
SHORT = DecodingSettings(beam_size=3, max_output_ratio=1.0, max_output_extra=2)
TEXTS = ["the dog saw", "", "das Haus ist klein , von Grund auf", "it"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@cache
def tokenizer_of(kind):
    return train_tokenizer(kind, CORPUS, None if kind == "word" else 330)


@cache
def translator_of(kind, seed=0, scale=1.0, **options):
    tokenizer = tokenizer_of(kind)
    torch.manual_seed(seed)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(scale)
    return Translator(model, tokenizer, SHORT)


def contains_words(text, target):
    """Whether the target is in the text and both ends are word boundaries there."""
    ends = {end for word in words_of(text) for end in (word.start, word.stop)}
    places = [place for place in range(len(text)) if text.startswith(target, place)]
    return any({place, place + len(target)} <= ends for place in places)


def check_provenance(translation):
    derivation = translation.derivation
    if not translation.source.strip():
        assert derivation is None
        assert translation.text == ""
        return
    phrases = derivation.phrases
    assert tuple(phrase.tokens for phrase in phrases) == derivation.tree.phrases
    texts = [translation.text[slice(*phrase.target_span)] for phrase in phrases]
    assert "".join(texts) == translation.text
    assert [text.strip() for text in texts] == [phrase.target for phrase in phrases]
    in_source_order = sorted(phrases, key=lambda phrase: phrase.tokens)
    sources = [translation.source[slice(*phrase.source_span)] for phrase in in_source_order]
    assert "".join(sources) == translation.source
    assert in_source_order[0].tokens[0] == 0
    for first, second in pairwise(in_source_order):
        assert first.tokens[1] == second.tokens[0]
    assert translation.log_prob <= 1e-9
    assert Translation.from_json(translation.to_json()) == translation


def same(first, second):
    assert first.text == second.text
    assert first.log_prob == pytest.approx(second.log_prob, abs=1e-4)
    assert first.derivation == second.derivation or (
        first.derivation.tree == second.derivation.tree
        and [p.tokens for p in first.derivation.phrases]
        == [p.tokens for p in second.derivation.phrases]
    )


# ---- without rules -------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_every_word_has_an_origin(kind, mode):
    translations = translator_of(kind).translate(TEXTS, mode, nbest=3)
    assert [translation.source for translation in translations] == TEXTS
    for translation in translations:
        check_provenance(translation)
        assert translation.mode == mode
        assert translation.fallback is None
        texts = [translation.text, *(one.text for one in translation.alternatives)]
        assert len(set(texts)) == len(texts) <= 3
        log_probs = [translation.log_prob, *(one.log_prob for one in translation.alternatives)]
        assert log_probs == sorted(log_probs, reverse=True)
        if translation.source:
            assert sum(translation.segment_posterior) == pytest.approx(1)


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_neighbours_change_nothing(mode):
    translator = translator_of("bpe")
    together = translator.translate(TEXTS, mode)
    for text, translation in zip(TEXTS, together, strict=True):
        same(translator.translate([text], mode)[0], translation)


@every_kind
def test_flat_is_what_the_decoder_says(kind):
    translator = translator_of(kind)
    source = translator.read(["the dog saw"])[0]
    (found,) = decode_flat(translator.model, [translator.framed(source.tokens)], SHORT, 3)
    translation = translator.translate(["the dog saw"])[0]
    by_text = {}
    for one in found:
        text = translator.tokenizer.decode(one.tokens, skip_special_tokens=True).strip()
        by_text[text] = by_text.get(text, 0.0) + math.exp(one.log_prob)
    assert translation.text == max(by_text, key=by_text.get)
    assert translation.log_prob == pytest.approx(math.log(by_text[translation.text]))


def test_token_strings_that_read_the_same_are_added_up():
    translator = translator_of("bpe")
    source = translator.read(["the dog"])[0]
    ids = translator.tokenizer.convert_tokens_to_ids
    whole, pieces = tuple(ids(["▁the"])), tuple(ids(["▁", "the"]))
    other = tuple(ids(["▁dog"]))
    found = [
        Hypothesis(other, math.log(0.3), None),
        Hypothesis(pieces, math.log(0.25), None),
        Hypothesis(whole, math.log(0.15), None),
    ]
    options = {"nbest": 2, "mode": "flat"}
    best = to_translation(translator.writer, Assignment(source), found, **options)
    assert (best.text, best.alternatives[0].text) == ("the", "dog")
    assert best.log_prob == pytest.approx(math.log(0.4))
    assert best.variants == (pieces, whole)
    assert best.derivation.phrases[0].log_prob == pytest.approx(math.log(0.25))
    ranked = to_translation(
        translator.writer, Assignment(source), found, **options, are_probabilities=False
    )
    assert (ranked.text, ranked.log_prob) == ("dog", pytest.approx(math.log(0.3)))


def test_the_posterior_and_the_derivation_belong_to_the_text():
    """Also where another string was the decoder's best, or several read the same."""
    translator = translator_of("bpe")
    source = translator.read(["the dog"])[0]
    ids = translator.tokenizer.convert_tokens_to_ids
    whole, pieces = tuple(ids(["▁the"])), tuple(ids(["▁", "the"]))
    several = [
        PhraseRecord(0, 1, pieces[:1], -1.0, None),
        PhraseRecord(1, 2, pieces[1:], -1.0, None),
    ]
    found = [
        Hypothesis(tuple(ids(["▁dog"])), math.log(0.3), None),
        hypothesis(math.log(0.25), several, math.log(0.1), [0.2, 0.8]),
        Hypothesis(whole, math.log(0.15), None, math.log(0.15), [1.0, 0.0, 0.0]),
    ]
    best = to_translation(translator.writer, Assignment(source), found, 2, mode="cky")
    assert (best.text, best.alternatives[0].text) == ("the", "dog")
    assert best.segment_posterior == pytest.approx([0.5, 0.5, 0.0])
    assert best.derivation.tree.segments == 1  # 0.15 in one derivation, against 0.1
    ranked = to_translation(
        translator.writer, Assignment(source), found[1:], 1, mode="cky", are_probabilities=False
    )
    assert ranked.segment_posterior == (0.2, 0.8)
    assert ranked.derivation.tree.segments == 2


# ---- rules ---------------------------------------------------------------------------------

WORDS = ["the", "dog", "in", "garden", "it", "xyz"]
rule_lists = st.lists(
    st.builds(
        Rule,
        source=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
        target=st.lists(
            st.sampled_from(["house", "the", "new york", "ᎠᏂᏴᏫ", "从头", "s", "'s"]),
            min_size=1,
            max_size=2,
        ),
        mode=st.sampled_from(["force", "force", "prefer"]),
        case=st.sampled_from(["sensitive", "insensitive"]),
    )
    | st.builds(Rule, source=st.sampled_from(WORDS), mode=st.just("keep")),
    max_size=5,
)
sentences = st.lists(st.sampled_from([*WORDS, "THE", "dog,"]), min_size=1, max_size=7)


def check_obedience(rules, translation):
    """Every occurrence of a rule that is forced or kept is obeyed, or a notice names the rule."""
    words = translation.source.split(" ")
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    for rule in rules:
        own = rule.source.split()
        folded = [word.casefold() if rule.case == "insensitive" else word for word in words]
        for first in range(len(words) - len(own) + 1):
            last = first + len(own)
            inside = [*folded[first : last - 1], folded[last - 1].rstrip(",")]
            if inside != own or rule.mode == "prefer":
                continue
            begin, end = starts[first], starts[last] - 1 - words[last - 1].count(",")
            kept = (translation.source[begin:end],)
            obeyed = [
                phrase
                for phrase in translation.derivation.phrases
                if phrase.rule is not None
                and (phrase.rule.mode, phrase.rule.targets) == (rule.mode, rule.targets)
                and phrase.source == kept[0]
                and phrase.source_span[0] <= begin < phrase.source_span[1]
                and phrase.target in (rule.targets or kept)
                and contains_words(translation.text, phrase.target)
            ]
            named = any(f"rule {rule} " in notice for notice in translation.notices)
            assert obeyed or named, (rule, translation)


@every_kind
@given(
    words=sentences,
    rules=rule_lists,
    seed=st.integers(0, 2),
    scale=st.sampled_from([1.0, 30.0]),
)
@settings(max_examples=25)
def test_rules_are_obeyed_or_reported(kind, words, rules, seed, scale):
    translator = translator_of(kind, seed, scale)
    rule_set = RuleSet(rules)
    (translation,) = translator.translate([" ".join(words)], "cky", rule_set)
    check_provenance(translation)
    lost = [
        rule for rule in rules if any(f"rule {rule} contradicts" in p for p in rule_set.problems)
    ]
    check_obedience([rule for rule in rules if rule not in lost], translation)


@every_kind
@pytest.mark.parametrize("encoding", ["alone", "sentence"])
def test_forced_words_stand_where_the_grammar_puts_them(kind, encoding):
    rules = [Rule("Haus", "HOUSE"), Rule("von Grund auf", ["from scratch", "anew"])]
    rules.append(Rule("klein", mode="keep"))
    translator = translator_of(kind, phrase_encoding=encoding)
    (translation,) = translator.translate(["das Haus ist klein , von Grund auf"], rules=rules)
    check_provenance(translation)
    check_obedience(rules, translation)
    origins = {p.source: p.origin for p in translation.derivation.phrases if p.rule is not None}
    assert origins == {
        "Haus": "rule 'Haus' -> 'HOUSE'",
        "klein": "rule 'klein' -> itself",
        "von Grund auf": "rule 'von Grund auf' -> 'from scratch' | 'anew'",
    }
    assert translation.mode == "cky"


def test_a_rule_for_a_part_of_a_token_cuts_it():
    translator = translator_of("bpe")
    assert "▁dog," in translator.tokenizer.get_vocab()
    for text in ["the dog, it", "dog,"]:
        (translation,) = translator.translate([text], rules=[Rule("dog", "cat")])
        check_obedience([Rule("dog", "cat")], translation)
        assert translation.notices == ()


def test_what_cannot_be_obeyed_is_said():
    translator = translator_of("word")
    (translation,) = translator.translate(["the dog, it"], rules=[Rule("dog", "cat", place="r:1")])
    assert translation.notices == (
        "rule 'dog' -> 'cat' (r:1) is not obeyed: the tokenizer does not part 'dog' from the "
        "words around it",
    )
    (translation,) = translator.translate(["it"], rules=[Rule("it", "cat", place="r:1")])
    assert translation.notices == (
        "rule 'it' -> 'cat' (r:1): the model does not know 'cat', which is copied if chosen",
    )
    assert translation.text == "cat"


def test_targets_that_the_model_does_not_know_are_told_apart():
    translator = translator_of("word")
    unknown = (translator.tokenizer.unk_token_id,)
    rules = RuleSet([Rule("dog", "cat"), Rule("it", "cow")])
    (best,) = translator.translate(["dog it"], rules=rules, nbest=3)
    (other,) = best.alternatives
    assert {best.text, other.text} == {"cat cow", "cow cat"}
    assert math.exp(best.log_prob) + math.exp(other.log_prob) == pytest.approx(1.0)
    assert best.variants == other.variants == (unknown * 2,)
    prepared = translator.prepare(["dog it"])
    assert prepared.score([best], rules) == pytest.approx([best.log_prob])
    assert prepared.score([[unknown * 2]], rules) == pytest.approx([0.0], abs=1e-6)
    (best,) = translator.translate(["dog"], rules=[Rule("dog", ["cat", "cow", "the"])], nbest=3)
    assert {best.text, *(one.text for one in best.alternatives)} == {"cat", "cow", "the"}
    kept = RuleSet([Rule("zzz", mode="keep"), Rule("yyy", mode="keep")])
    (best,) = translator.translate(["zzz yyy"], rules=kept, nbest=3)
    assert {best.text, best.alternatives[0].text} == {"zzz yyy", "yyy zzz"}


def test_preferred_rules_do_not_cut_tokens():
    translator = translator_of("bpe")
    rule = Rule("dog", "cat", mode="prefer", place="r:1")
    prepared = translator.prepare(["the dog, it"])
    plain = prepared.translate()[0]
    (translation,) = prepared.translate([rule])
    assert translation.notices == (
        "rule 'dog' -> 'cat' (r:1) does not compete: the tokenizer does not part 'dog' from the "
        "words around it",
    )
    assert (translation.text, translation.derivation) == (plain.text, plain.derivation)
    assert len(prepared._groups) == 1


def test_preferred_rules_without_a_tree_are_reported():
    translator = translator_of("word")
    rule = Rule("dog", "garden.", mode="prefer", place="r:1")
    (translation,) = translator.translate(["the dog saw"], rules=[rule], max_segments=2)
    (notice,) = translation.notices
    assert notice.startswith("rule 'dog' -> 'garden.' (r:1) does not compete: max_segments, ")


def test_a_preferred_rule_competes():
    translator = translator_of("unigram", scale=0.1)  # every phrase is about equally unlikely
    rule = Rule("dog", "garden", mode="prefer")
    (translation,) = translator.translate(["the dog saw it"], rules=[rule], flat_weight=0.0)
    assert [p.rule for p in translation.derivation.phrases if p.source == "dog"] == [rule]
    (translation,) = translator.translate(["the dog saw it"], rules=[rule], flat_weight=1.0)
    assert translation.derivation.tree.segments == 1  # nothing says that it must be obeyed


def test_rules_that_do_nothing_are_warned_about():
    translator = translator_of("word")
    rules = [Rule("it", "x", place="r:1"), Rule("it", "y", place="r:2"), Rule("no", "z")]
    with pytest.warns(UserWarning, match="^rule") as caught:
        translator.translate(["it"], rules=rules)
    assert [str(one.message) for one in caught] == [
        "rule 'it' -> 'y' (r:2) contradicts 'it' -> 'x' (r:1), which is used",
        "rule 'no' -> 'z' matched nothing",
    ]


# ---- scores --------------------------------------------------------------------------------


@every_kind
def test_flat_score_is_what_was_reported(kind):
    translator = translator_of(kind)
    translations = translator.translate(TEXTS)
    for translation, score in zip(translations, translator.score(TEXTS, translations), strict=True):
        assert score.flat_log_prob == pytest.approx(translation.log_prob, abs=1e-4)


@every_kind
@pytest.mark.parametrize("rules", [[], [Rule("Haus", "HOUSE"), Rule("dog", ["cat", "dog"])]])
def test_cky_score_is_what_was_reported(kind, rules):
    translator = translator_of(kind)
    rule_set = RuleSet(rules)
    translations = translator.translate(TEXTS, "cky", rule_set)
    prepared = translator.prepare(TEXTS)
    reported = prepared.score(translations, rule_set)
    assert reported == pytest.approx([one.log_prob for one in translations], abs=1e-4)
    if not rules:  # the exact sum holds more than the beam
        for translation, score in zip(
            translations, translator.score(TEXTS, translations), strict=True
        ):
            assert score.cky_log_prob >= translation.log_prob - 1e-4
    assert prepared.score(["garden."] * 4, rule_set)[1] == -math.inf


def test_scores_that_are_no_probabilities_are_as_reported(monkeypatch):
    translator = translator_of("bpe")
    ids = translator.tokenizer.convert_tokens_to_ids
    strings = [tuple(ids(pieces)) for pieces in (["▁the"], ["▁", "the"])]
    result = CkyResult([Hypothesis(tokens, -1.0 - len(tokens), None) for tokens in strings])
    for is_normalised, expected in ((True, -2.0), (False, -2.0 + math.log1p(math.exp(-1.0)))):
        prepared = translator.prepare(["dog"], length_normalised=is_normalised)
        monkeypatch.setattr(prepared, "_decode", lambda _: [result])
        (translation,) = prepared.translate()
        assert translation.variants == (*strings,)
        assert translation.log_prob == pytest.approx(expected)
        assert prepared.score([translation]) == pytest.approx([expected])


def test_no_translation_has_no_probability():
    (score,) = translator_of("word").score(["the dog"], [[]])
    assert (score.flat_log_prob, score.cky_log_prob) == (-math.inf, -math.inf)


def test_score_of_a_text():
    translator = translator_of("word")
    one, nothing, impossible = translator.score(["the dog", "", ""], ["dog in the", "", "dog"])
    assert one.derivation.phrases[-1].target.split()[-1] == "the"
    check = translator.score(["the dog"], [[translator.writer.encode_sentence("dog in the")]])
    assert check == [one]
    assert (nothing.flat_log_prob, nothing.cky_log_prob) == (0.0, 0.0)
    assert impossible.flat_log_prob == -math.inf
    flat_only = translator.score(["the dog"], ["dog in the"], flat_weight=1.0)[0]
    assert flat_only.cky_log_prob == pytest.approx(one.flat_log_prob)


# ---- what if -------------------------------------------------------------------------------


def test_texts_are_encoded_once_for_many_rules(monkeypatch):
    translator = translator_of("bpe")
    prepared = translator.prepare(TEXTS)
    plain = prepared.translate()
    for first, second in zip(plain, translator.translate(TEXTS, "cky"), strict=True):
        same(first, second)

    def never(*_):
        raise AssertionError("encoded again")

    monkeypatch.setattr(cky, "encode_sentences", never)
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


# ---- hard input ----------------------------------------------------------------------------

HARD = [
    "",
    " \t",
    "x",
    "a\x00b\x07 \x1b",
    "ᎠᏂᏴᏫ ᎤᎵᎮᎵᏍᏗ",
    "🙂 👍🏽",
    "\u0301",
    "<s> </s> <seg> <0x41>",
]


@every_kind
@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_hard_input(kind, mode):
    for translation in translator_of(kind).translate(HARD, mode, max_output_ratio=0.2):
        check_provenance(translation)


@pytest.mark.parametrize("rules", [[], [Rule("Haus", "HOUSE")]])
def test_long_sentences_fall_back_and_rules_are_still_obeyed(rules):
    text = " ".join(["the dog saw"] * 80 + ["Haus"] + ["it , in"] * 80 + ["Haus"])
    translator = translator_of("word")
    options = {"max_output_ratio": 0.02, "max_output_extra": 2}
    (translation,) = translator.translate([text], "cky", RuleSet(rules), **options)
    assert translation.fallback is not None
    assert "482 tokens" in translation.fallback
    check_provenance(translation)
    check_obedience(rules, translation)
    assert translation.text.count("HOUSE") == 2 * len(rules)


def test_preferred_rules_in_long_sentences_are_obeyed_or_reported():
    translator = translator_of("word")
    rules = [
        Rule("Haus", "HOUSE"),
        Rule("the dog", "a cat", mode="prefer"),
        Rule("in", "at", mode="prefer", place="r:3"),
    ]
    (translation,) = translator.translate(
        ["the dog Haus it in"], rules=RuleSet(rules), max_cky_length=4
    )
    assert translation.fallback is not None
    check_provenance(translation)
    assert [phrase.rule for phrase in translation.derivation.phrases] == [rules[1], rules[0], None]
    (notice,) = [notice for notice in translation.notices if "does not know" not in notice]
    assert notice.startswith("rule 'in' -> 'at' (r:3) does not compete: the sentence is too long")


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_weights_that_are_not_numbers(mode):
    tokenizer = tokenizer_of("word")
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(math.nan)
    (translation, _) = Translator(model, tokenizer, SHORT).translate(["the dog", ""], mode)
    assert (translation.text, translation.log_prob) == ("", -math.inf)
    assert translation.fallback == "the decoder found no translation"


def test_no_warning_without_a_beam(caplog):
    verbosity = logging.get_verbosity()
    logging.set_verbosity_warning()
    logging.enable_propagation()
    try:
        translator_of("word").translate(["it"], beam_size=1)
    finally:
        logging.disable_propagation()
        logging.set_verbosity(verbosity)
    assert caplog.records == []


def test_absolute_positions():
    tokenizer = tokenizer_of("bpe")
    torch.manual_seed(0)
    config = MarianConfig(
        vocab_size=len(tokenizer),
        decoder_vocab_size=len(tokenizer),
        d_model=16,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": 16 for side in ("encoder", "decoder")},
    )
    translator = Translator(BTGSeq2Seq.from_backbone(config, tokenizer), tokenizer, SHORT)
    rules = [Rule("dog", "cat")]
    (translation,) = translator.translate(["the dog saw it"], rules=rules)
    check_provenance(translation)
    check_obedience(rules, translation)
    message = r"^sentence 1: it has 40 tokens, but the model reads no more than 32; split it: 'the"
    with pytest.raises(ValueError, match=message):
        translator.translate(["the", "the " * 40])
    # Cutting tokens would make the sentence too long: it is not done, and that is said.
    assert "▁dog," in tokenizer.get_vocab()
    (translation,) = translator.translate(["dog, " * 28], rules=RuleSet(rules))
    assert len(translation.notices) == 1  # once, however often the rule matches
    assert translation.notices[0] == (
        "rule 'dog' -> 'cat' is not obeyed: with 'dog' cut out of its tokens, the sentence is "
        "longer than the 31 tokens that the model reads"
    )
    for target in ["the " * 40, [translator.writer.encode_sentence("the " * 40)]]:
        with pytest.raises(
            SentenceLengthError, match=r"^sentence 1: its translation has 40 .* 31$"
        ):
            translator.score(["the", "the"], ["the", target])
    check_length(translator, "the", "in.txt: line 1")
    with pytest.raises(ValueError, match=r"^in\.txt: line 2: it has 40 tokens"):
        check_length(translator, "the " * 40, "in.txt: line 2")


def test_what_is_refused(tmp_path):
    translator = translator_of("word")
    with pytest.raises(ValueError, match="flat translation cannot obey rules"):
        translator.translate(["it"], "flat", [Rule("it", "x")])
    with pytest.raises(ValueError, match="nbest=9 must lie between 1 and beam_size=3"):
        translator.translate(["it"], nbest=9)
    with pytest.raises(ValueError, match="a list of sentences"):
        translator.translate("it")
    with pytest.raises(ValueError, match="mode is flat or cky, not 'fast'"):
        translator.translate(["it"], "fast")
    with pytest.raises(ValueError, match="holds no model"):
        Translator.from_pretrained(tmp_path)


def test_saved_and_loaded(tmp_path):
    translator = translator_of("bpe")
    translator.model.save_pretrained(tmp_path)
    translator.tokenizer.save_pretrained(tmp_path)
    again = Translator.from_pretrained(tmp_path, SHORT)
    assert again.translate(TEXTS, "cky") == translator.translate(TEXTS, "cky")
