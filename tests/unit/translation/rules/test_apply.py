"""Rules applied to a text: spans of tokens, and notices for what cannot be obeyed."""

from tiny_translators import translator_of

from btg_seq2seq import Rule
from btg_seq2seq.translation.rules.apply import BEYOND, RuleApplier, RuledText
from btg_seq2seq.translation.rules.rules import RuleSet


def applied(kind, text, *rules, longest=None):
    translator = translator_of(kind)
    (source,) = translator.read([text])
    applier = RuleApplier(translator.reader, translator.writer, RuleSet(rules), longest)
    return applier.apply(source)


def test_matches_become_spans_of_tokens():
    ruled = applied("word", "the dog saw it", Rule("dog", "the dog saw"), Rule("it", mode="keep"))
    forced, kept = ruled.spans
    assert (forced.start, forced.stop, forced.mode, forced.rule) == (1, 2, "force", 0)
    assert (kept.start, kept.stop, kept.mode, kept.rule) == (3, 4, "force", 1)
    (string,) = forced.targets
    tokens, text = ruled.read(0, string)
    assert text == "the dog saw"
    assert tokens == translator_of("word").writer.encode("the dog saw")
    assert ruled.read(None, (5, 6)) == ((5, 6), None)
    assert ruled.notices == []


def test_tokens_are_cut_for_forced_rules_only():
    plain = applied("bpe", "the dog, yes")
    assert "▁dog," in translator_of("bpe").tokenizer.convert_ids_to_tokens(plain.source.tokens)
    cut = applied("bpe", "the dog, yes", Rule("dog", "it"))
    assert len(cut.source.tokens) > len(plain.source.tokens)
    assert len(cut.spans) == 1
    whole = applied("bpe", "the dog, yes", Rule("dog", "it", mode="prefer"))
    assert whole.source == plain.source
    assert whole.spans == []
    assert "does not compete: the tokenizer does not part 'dog'" in whole.notices[0]


def test_a_text_that_would_become_too_long_is_not_cut():
    most = len(applied("bpe", "the dog, yes").source.tokens)
    ruled = applied("bpe", "the dog, yes", Rule("dog", "it"), longest=most)
    assert ruled.spans == []
    assert f"longer than the {most} tokens that the model reads" in ruled.notices[0]


def test_targets_that_share_their_tokens_are_told_apart():
    ruled = applied("word", "the dog", Rule("dog", ["xyzzy", "plugh"]))
    (span,) = ruled.spans
    assert len({*span.targets}) == 2
    assert all(string[0] >= BEYOND for string in span.targets)
    assert span.spelled[0] == span.spelled[1]
    assert [ruled.read(0, string)[1] for string in span.targets] == ["xyzzy", "plugh"]
    assert "the model does not know 'xyzzy', which is copied if chosen" in ruled.notices[0]


def test_nothing_to_do():
    ruled = applied("word", "the dog")
    assert ruled == RuledText(ruled.source)
    assert applied("word", "", Rule("dog", "it")).matches == []


def test_targets_follow_the_case_of_the_match():
    ruled = applied("word", "The DOG", Rule("the dog", "it", case="follow"))
    (span,) = ruled.spans
    assert ruled.read(0, span.targets[0])[1] == "It"
