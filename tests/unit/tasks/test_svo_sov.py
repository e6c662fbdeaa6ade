"""SVO -> SOV data: what each split promises, for any seed, read off the items alone."""

import hashlib
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple, get_args

import pytest
from checks import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from btg_seq2seq.tasks.svo_sov import Split, SvoSovConfig, Words, generate
from btg_seq2seq.tasks.svo_sov_files import write

SPLITS = get_args(Split)
FILES = {
    f"{name}.{kind}"
    for name in ("train", "dev", "test")
    for kind in ("source", "target", "tree", "segmentation")
} | {"svo_sov.json"}

# A seed is hundreds of sentences, so a third of the usual number of cases says enough.
fewer_cases = settings(max_examples=settings.default.max_examples // 3)
seeds = st.integers(-3, 10**6)
splits = st.sampled_from(SPLITS)
kinds_of_words = st.sampled_from(get_args(Words))


class Reading(NamedTuple):
    """The phrase pairs of an item, in source order."""

    subject: tuple[str, str]
    verb: tuple[str, str]
    object: tuple[str, str]


def reading(item):
    source, target = item.source.split(), item.target.split()
    subject, object_, verb = (
        (" ".join(source[slice(*source_phrase)]), " ".join(target[slice(*target_phrase)]))
        for source_phrase, target_phrase in zip(item.tree.phrases, item.target_phrases, strict=True)
    )
    return Reading(subject, verb, object_)


def readings(config):
    return {name: [reading(item) for item in items] for name, items in tiny_data(config).items()}


@cache
def tiny_data(config):
    return generate(config)


def every(data):
    return [entry for entries in data.values() for entry in entries]


def segmentations(text, *kinds):
    """Every way to cut the text into one phrase of each kind."""
    tokens = text.split()
    cuts = combinations(range(1, len(tokens)), len(kinds) - 1)
    for fenceposts in ([0, *cut, len(tokens)] for cut in cuts):
        phrases = [" ".join(tokens[i:j]) for i, j in pairwise(fenceposts)]
        if all(phrase in kind for phrase, kind in zip(phrases, kinds, strict=True)):
            yield phrases


# Whoever changes these changes every number that was measured on the data. Python hashes text
# differently in every run, so they also fail where the data depend on the order of a set.
CHECKSUMS = {
    "few-shot": "82305c658f8c97814977175e740710f9e522124fcdd738f0a33a75e07b2fd91a",
    "novel-position": "c3c9139b9daee4adbb755e1ff0186a71d6278f404bbe5c94a92a888196ebbf12",
}


@pytest.mark.parametrize("split", SPLITS)
def test_data_of_the_paper_size_never_drift(split, tmp_path):
    config = SvoSovConfig(split, seed=0)
    write(tmp_path, config)
    texts = {name: (tmp_path / name).read_bytes() for name in sorted(FILES - {"svo_sov.json"})}
    assert hashlib.sha256(b"".join(texts.values())).hexdigest() == CHECKSUMS[split]
    counts = {name: text.count(b"\n") for name, text in texts.items()}
    for name in ("train", "dev", "test"):
        for kind in ("source", "target", "tree", "segmentation"):
            assert counts[f"{name}.{kind}"] == getattr(config, f"{name}_size")
    sources = [line for name, text in texts.items() if "source" in name for line in text.split()]
    assert len(set(sources)) == config.vocabulary_size


@pytest.mark.parametrize("split", SPLITS)
def test_phrase_lengths_are_uniform_and_independent(split):
    pairs = set()
    for sentence in map(reading, every(generate(SvoSovConfig(split)))):
        pairs.update(sentence)
    lengths = Counter((len(source.split()), len(target.split())) for source, target in pairs)
    for side in (0, 1):
        count = Counter()
        for both, number in lengths.items():
            count[both[side]] += number
        assert sorted(count) == list(range(1, 9))
        assert all(0.5 < 8 * number / len(pairs) < 1.7 for number in count.values())
    mean = {
        side: sum(both[side] * n for both, n in lengths.items()) / len(pairs) for side in (0, 1)
    }
    covariance = sum((a - mean[0]) * (b - mean[1]) * n for (a, b), n in lengths.items())
    assert abs(covariance / len(pairs)) / 5.25 < 0.2  # the variance of a uniform 1..8


@fewer_cases
@given(splits, seeds, kinds_of_words)
def test_same_seed_same_data_other_seed_other_data(split, seed, words):
    config = SvoSovConfig.tiny(split, seed, words)
    data = generate(config)
    assert data == generate(config)
    assert data != generate(replace(config, seed=seed + 1))
    assert data != generate(replace(config, seed=-seed)) or seed == 0
    sizes = [config.train_size, config.dev_size, config.test_size]
    assert [len(data[name]) for name in ("train", "dev", "test")] == sizes


@fewer_cases
@given(splits, seeds, kinds_of_words)
def test_trees_invert_verb_and_object(split, seed, words):
    config = SvoSovConfig.tiny(split, seed, words)
    shortest, longest = config.phrase_lengths
    for item in every(tiny_data(config)):
        source, target = item.source.split(), item.target.split()
        (_, subject), (verb_stop, stop), (verb_start, middle) = item.tree.phrases
        assert subject == verb_start
        assert middle == verb_stop
        assert str(item.tree) == f"[0:{subject} <{subject}:{middle} {middle}:{stop}>]"
        assert stop == len(source)
        fenceposts = [0, *(phrase_stop for _, phrase_stop in item.target_phrases)]
        assert item.target_phrases == list(pairwise(fenceposts))
        assert fenceposts[-1] == len(target)
        for start, end in (*item.tree.phrases, *item.target_phrases):
            assert shortest <= end - start <= longest
        for letter, tokens in (("s", source), ("t", target)) if words == "tokens" else ():
            assert {token[0] for token in tokens} == {letter}
            assert all(0 <= int(token[1:]) < config.vocabulary_size for token in tokens)


@fewer_cases
@given(splits, seeds, kinds_of_words)
def test_phrases_translate_one_to_one_and_nouns_are_no_verbs(split, seed, words):
    sentences = every(readings(SvoSovConfig.tiny(split, seed, words)))
    nouns = {pair for sentence in sentences for pair in (sentence.subject, sentence.object)}
    verbs = {sentence.verb for sentence in sentences}
    assert not nouns & verbs
    for side in (0, 1):
        assert len({pair[side] for pair in nouns | verbs}) == len(nouns | verbs)


@fewer_cases
@given(splits, seeds, kinds_of_words)
def test_no_sentence_occurs_twice(split, seed, words):
    sources = [item.source for item in every(tiny_data(SvoSovConfig.tiny(split, seed, words)))]
    assert len(set(sources)) == len(sources)


def assert_one_reading(data):
    sentences = [reading(item) for item in every(data)]
    nouns = [
        {pair[side] for sentence in sentences for pair in (sentence.subject, sentence.object)}
        for side in (0, 1)
    ]
    verbs = [{sentence.verb[side] for sentence in sentences} for side in (0, 1)]
    for item in every(data):
        assert len(list(segmentations(item.source, nouns[0], verbs[0], nouns[0]))) == 1
        assert len(list(segmentations(item.target, nouns[1], nouns[1], verbs[1]))) == 1


@fewer_cases
@given(splits, seeds, kinds_of_words)
def test_every_sentence_can_be_read_in_one_way_only(split, seed, words):
    assert_one_reading(tiny_data(SvoSovConfig.tiny(split, seed, words)))


def test_the_guard_where_many_sentences_are_ambiguous():
    # A third of all phrases of up to three of four tokens are nouns or verbs: 24 % are ambiguous.
    config = SvoSovConfig(
        "novel-position", 0, (1, 3), 60, 8, 8, 4, 6, noun_phrases=22, subject_only=3, object_only=3
    )
    assert_one_reading(generate(config))


@fewer_cases
@given(seeds, kinds_of_words)
def test_few_shot_subjects_have_three_examples_and_then_new_company(seed, words):
    config = replace(SvoSovConfig.tiny("few-shot", seed, words), train_size=301)
    data = readings(config)
    examples = Counter(sentence.subject for sentence in data["train"])
    assert sorted(examples.values()) == [1] + [3] * 100
    objects = {sentence.object for sentence in every(data)}
    assert not objects & {sentence.subject for sentence in every(data)}
    assert len(objects) <= config.object_phrases
    contexts = defaultdict(set)
    for sentence in data["train"]:
        contexts[sentence.subject].add((sentence.verb, sentence.object))
    assert all(len(contexts[subject]) == number for subject, number in examples.items())
    for sentence in data["dev"] + data["test"]:
        assert examples[sentence.subject] == 3
        assert any((sentence.verb, sentence.object) in seen for seen in contexts.values())
        company = {pair for context in contexts[sentence.subject] for pair in context}
        assert not company & {sentence.verb, sentence.object}
    for name in ("dev", "test"):  # as many subjects as the size allows
        assert len({sentence.subject for sentence in data[name]}) == len(data[name])


@fewer_cases
@given(seeds, kinds_of_words)
def test_novel_position_puts_phrases_into_their_other_role(seed, words):
    config = SvoSovConfig.tiny("novel-position", seed, words)
    data = readings(config)
    subjects = {sentence.subject for sentence in data["train"]}
    objects = {sentence.object for sentence in data["train"]}
    verbs = {sentence.verb for sentence in data["train"]}
    assert len(subjects - objects) == config.subject_only
    assert len(objects - subjects) == config.object_only
    assert len(subjects | objects) == config.noun_phrases
    assert len(verbs) == config.verb_phrases
    for name in ("dev", "test"):
        for sentence in data[name]:
            assert {sentence.subject, sentence.object} <= subjects | objects
            assert sentence.verb in verbs
            assert sentence.subject not in subjects or sentence.object not in objects
        assert {sentence.subject for sentence in data[name]} >= objects - subjects
        assert {sentence.object for sentence in data[name]} >= subjects - objects


@fewer_cases
@given(seeds, kinds_of_words)
def test_smallest_training_set_still_shows_every_phrase_in_its_roles(seed, words):
    config = replace(SvoSovConfig.tiny("novel-position", seed, words), train_size=48)
    train = readings(config)["train"]
    assert len({sentence.subject for sentence in train}) == 20
    assert len({sentence.object for sentence in train}) == 20
    assert len({sentence.verb for sentence in train}) == 8


@pytest.mark.parametrize(
    ("split", "changes"),
    [
        ("few-shot", {"verb_phrases": 1}),  # no verb is new to a subject
        ("few-shot", {"dev_size": 10**5}),
        ("novel-position", {"test_size": 10**5}),
    ],
)
def test_running_out_of_sentences_is_an_error(split, changes):
    with refused(split, "fewer sentences", "vocabulary_size"):
        generate(replace(SvoSovConfig.tiny(split), **changes))
