"""Rules in translations: they are obeyed whatever the weights, or it is said why not."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_translators import check_obedience, check_provenance, every_kind, translator_of

from btg_seq2seq import Rule, Translation
from btg_seq2seq.translation.rules.rules import RuleSet

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
@pytest.mark.parametrize("encoding", ["alone", "sentence", "both"])
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
    many = [Rule(f"no {number}", "z") for number in range(3)]
    with pytest.warns(
        UserWarning, match="rule 'no 0' -> 'z' matched nothing, and 2 more"
    ) as caught:
        translator.translate(["it"], rules=many)
    assert len(caught) == 1


@pytest.mark.parametrize("rules", [[], [Rule("Haus", "HOUSE")]])
def test_long_sentences_fall_back_and_rules_are_still_obeyed(rules):
    text = " ".join(["the dog saw"] * 80 + ["Haus"] + ["it , in"] * 80 + ["Haus"])
    translator = translator_of("word")
    options = {"max_output_ratio": 0.02, "max_output_extra": 2}
    (translation,) = translator.translate([text], "cky", RuleSet(rules), **options)
    assert translation.fallback is not None
    assert "482 words" in translation.fallback
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


def test_a_long_line_with_many_forced_words():
    """It is cut at each of them, into more pieces than a recursion could go deep."""
    translator = translator_of("word")
    (found,) = translator.translate(
        ["the dog " * 700],
        "cky",
        [Rule("dog", "cat")],
        beam_size=1,
        max_output_ratio=0.0,
        max_length=None,
    )
    assert found.text.split().count("cat") >= 700
    assert len(found.derivation.phrases) == 1400
    assert Translation.from_json(json.loads(json.dumps(found.to_json()))) == found
    check_provenance(found)
