"""Recombination: what it makes is well-formed, never held out, and a function of its numbers."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from byte_level import byte_level_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.grammar import Leaf, Tree
from btg_seq2seq.recombination.recombine import HeldOut, Recombiner
from btg_seq2seq.recombination.settings import RecombinationSettings
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.units import unit_table, word_joins
from tests.tiny_tokenizers import end_marking_tokenizer

SUBJECT, OBJECT, VERB = "[1", "[2<1", "[2<2"
TWO_WORDS = Derivation(Tree.parse("[0:1 1:2]"), [(0, 1), (1, 2)])


def encoded(pairs, tokenizer=None):
    sources, targets = zip(*pairs, strict=True)
    bitext = Bitext(list(sources), list(targets))
    tokenizer = tokenizer or train_tokenizer("word", bitext.source + bitext.target)
    return encode_bitext(bitext, tokenizer), tokenizer


def texts(tokenizer, made):
    return tuple(tokenizer.decode(side, skip_special_tokens=True) for side in made)


def svo_sov(split, wrong=0.0, settings=None, size="tiny"):
    """A task's items, and a recombiner of its gold derivations, some of them made wrong."""
    config = SvoSovConfig.tiny(split) if size == "tiny" else SvoSovConfig(split, train_size=size)
    data = generate(config)
    train, random = data["train"], Random(0)
    examples, tokenizer = encoded([(item.source, item.target) for item in train])
    trees, targets = [], []
    for item in train:
        (start, middle), (_, stop) = item.tree.phrases[0], item.tree.phrases[2]
        moved = min(middle + random.choice([-1, 1]), stop - 1)
        if random.random() < wrong and start < moved:
            object_ = item.tree.phrases[1]
            trees.append(Tree.from_phrases([(0, moved), object_, (moved, stop)]))
        else:
            trees.append(item.tree)
        targets.append(item.target_phrases)
    recombiner = Recombiner(
        DerivationCorpus.of(map(Derivation, trees, targets)), examples, settings
    )
    return data, tokenizer, recombiner


def phrase_pairs(items):
    """Subjects, objects and verbs with their translations."""
    roles = [set(), set(), set()]
    for item in items:
        source, target = item.source.split(), item.target.split()
        for role, read, written in zip(roles, item.tree.phrases, item.target_phrases, strict=True):
            role.add((" ".join(source[slice(*read)]), " ".join(target[slice(*written)])))
    return roles


def sentences_of(subjects, objects, verbs):
    """Source and target of every subject, verb and object."""
    return {
        (f"{subject[0]} {verb[0]} {object_[0]}", f"{subject[1]} {object_[1]} {verb[1]}")
        for subject in subjects
        for object_ in objects
        for verb in verbs
    }


@pytest.mark.parametrize("split", ["few-shot", "novel-position"])
def test_recombined_sentences_are_sentences_of_the_task(split):
    data, tokenizer, recombiner = svo_sov(split)
    subjects, objects, verbs = phrase_pairs(data["train"])
    if split == "novel-position":  # what is seen in one role may be made in the other
        subjects = objects = subjects | objects
    right = sentences_of(subjects, objects, verbs)
    made = [
        texts(tokenizer, recombiner.recombine(position, 0, epoch))
        for position in range(len(data["train"]))
        for epoch in range(5)
    ]
    assert set(made) <= right
    assert len(set(made)) > 0.5 * len(made)
    new = set(made) - {(item.source, item.target) for item in data["train"]}
    assert len(new) > 0.4 * len(made)


@pytest.mark.parametrize("wrong", [0.0, 0.06, 0.12])
def test_slots_are_found_by_their_phrases(wrong):
    """Subjects and objects exchange phrases where they share some; never with verbs."""
    *_, few_shot = svo_sov("few-shot", wrong)
    assert few_shot.partners.slots[SUBJECT] == [SUBJECT]
    assert few_shot.partners.slots[OBJECT] == [OBJECT]
    *_, novel_position = svo_sov("novel-position", wrong)
    assert novel_position.partners.slots[SUBJECT] == [SUBJECT, OBJECT]
    assert novel_position.partners.slots[OBJECT] == [OBJECT, SUBJECT]
    assert novel_position.partners.slots[VERB] == [VERB]


def test_wrong_boundaries_are_hardly_passed_on():
    data, _, recombiner = svo_sov("few-shot", 0.06, size=900)
    _, _, trusting = svo_sov("few-shot", 0.06, RecombinationSettings(rare=0.0), size=900)
    right = phrase_pairs(data["train"])[2]

    def share_of_wrong_verbs(recombiner):
        kept = set(recombiner.partners.sentences[VERB])
        wrong = 0
        for position in kept:
            pair = recombiner.derivations[position].phrases[2]
            item = data["train"][position]
            source, target = item.source.split(), item.target.split()
            verb = " ".join(source[slice(*pair.source)]), " ".join(target[slice(*pair.target)])
            wrong += verb not in right
        return wrong / len(kept)

    assert share_of_wrong_verbs(trusting) > 0.02
    assert share_of_wrong_verbs(recombiner) < 0.01
    subjects = phrase_pairs(data["train"])[0]  # seen three times each, and yet not thrown away
    kept = {data["train"][position].source for position in recombiner.partners.sentences[SUBJECT]}
    assert sum(
        any(source.startswith(f"{s} ") for source in kept) for s, _ in subjects
    ) > 0.99 * len(subjects)


@st.composite
def corpora(draw):
    """Sentences whose every token is translated by itself, and any trees over them."""
    trees, targets, pairs = [], [], []
    for _ in range(draw(st.integers(2, 8))):
        lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
        tokens = draw(st.lists(st.integers(0, 5), min_size=sum(lengths), max_size=sum(lengths)))
        ends = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
        spans = list(pairwise(ends))
        order = draw(st.permutations(range(len(spans))))
        if order in ([1, 3, 0, 2], [2, 0, 3, 1]):  # no tree has these orders
            order.sort()
        trees.append(Tree.from_phrases([spans[rank] for rank in order]))
        source = [f"s{token}" for token in tokens]
        target, segmentation = [], []
        for rank in order:
            start = len(target)
            target += [f"t{token}" for token in tokens[slice(*spans[rank])]]
            segmentation.append((start, len(target)))
        targets.append(segmentation)
        pairs.append((" ".join(source), " ".join(target)))
    return trees, targets, pairs


@given(corpora(), st.sampled_from([0.3, 1.0]), st.integers(0, 1000))
def test_both_sides_are_recombined_alike(corpus, rate, seed):
    trees, targets, pairs = corpus
    examples, tokenizer = encoded(pairs)
    settings = RecombinationSettings(rate=rate)
    recombiner = Recombiner(
        DerivationCorpus.of(map(Derivation, trees, targets)), examples, settings
    )
    for position, tree in enumerate(trees):
        made = recombiner.recombine(position, seed)
        if isinstance(tree, Leaf):
            assert made is None
        if made is None:
            continue
        source, target = made
        assert source[-1] == target[-1] == tokenizer.eos_token_id
        assert tokenizer.eos_token_id not in source[:-1] + target[:-1]
        assert len(source) <= examples.source.lengths.max()
        assert len(target) <= examples.target.lengths.max()
        read, written = texts(tokenizer, made)
        assert Counter(read.replace("s", "t").split()) == Counter(written.split())


@given(corpora(), st.integers(0, 1000))
def test_numbers_alone_decide(corpus, seed):
    trees, targets, pairs = corpus
    examples, _ = encoded(pairs)
    derivations = DerivationCorpus.of(map(Derivation, trees, targets))
    forwards, backwards = Recombiner(derivations, examples), Recombiner(derivations, examples)
    made = [forwards.recombine(position, seed, 3) for position in range(len(pairs))]
    again = [backwards.recombine(position, seed, 3) for position in reversed(range(len(pairs)))]
    assert made == again[::-1]


def test_other_numbers_make_other_sentences():
    _, _, recombiner = svo_sov("few-shot")
    assert (
        len({str(recombiner.recombine(0, seed, epoch)) for seed in (0, 1) for epoch in (0, 1)}) > 1
    )
    assert recombiner.recombine(0, 1, 23) != recombiner.recombine(0, 12, 3)


def test_excluded_sources_are_never_made_and_counted():
    data, tokenizer, free = svo_sov("novel-position")
    dev = [tokenizer(item.source)["input_ids"] for item in data["dev"] + data["test"]]
    held_out = set(map(tuple, dev))
    recombiner = Recombiner(free.derivations, free.examples, excluded=dev)
    numbers = [(position, epoch) for position in range(300) for epoch in range(10)]
    coincidences = sum(tuple(free.recombine(*pair)[0]) in held_out for pair in numbers)
    assert coincidences > 0
    assert all(tuple(recombiner.recombine(*pair)[0]) not in held_out for pair in numbers)
    assert recombiner.tries.coincidences >= coincidences
    assert recombiner.tries.made == len(numbers) + recombiner.tries.coincidences


def test_nothing_is_made_where_everything_is_excluded():
    trees = DerivationCorpus.of([TWO_WORDS] * 2)
    examples, tokenizer = encoded([("a b", "c d")] * 2)
    stuck = Recombiner(trees, examples, excluded=[tokenizer("a b")["input_ids"]])
    assert stuck.recombine(0, 0) is None
    assert stuck.tries == (10, 10)
    assert stuck.batch(0, 0, batch_size=1)[0]["labels"] == examples[0]["labels"]


def test_batches_of_steps_have_like_lengths():
    _, _, recombiner = svo_sov("few-shot")
    again = Recombiner(recombiner.derivations, recombiner.examples)
    size = {"batch_size": 16}
    assert again.batch(3, 70, **size) == recombiner.batch(3, 70, **size)  # also without step 69
    batches = [recombiner.batch(3, step, **size) for step in range(100)]
    assert batches[70] == recombiner.batch(3, 70, **size) != recombiner.batch(4, 70, **size)
    assert {len(batch) for batch in batches} == {16}
    rows = [row for batch in batches for row in batch]
    tokens = sum(len(row["input_ids"]) for row in rows)
    padded = sum(16 * max(len(row["input_ids"]) for row in batch) for batch in batches)
    assert padded < 1.1 * tokens
    assert len({str(row) for row in rows}) > 0.7 * len(rows)


@pytest.mark.parametrize("length", [5, 40])
def test_batches_hold_as_many_tokens_as_those_of_other_steps(length):
    """One sentence in ten is long: a fixed number of sentences would have far more tokens."""
    pairs = [("a b", "c d")] * 9 + [(" ".join("ab" * length), " ".join("cd" * length))]
    words = [[(0, 1), (1, 2)]] * 9 + [[(0, length), (length, 2 * length)]]
    trees = [Tree.from_phrases(phrases) for phrases in words]
    examples, _ = encoded(pairs)
    recombiner = Recombiner(DerivationCorpus.of(map(Derivation, trees, words)), examples)
    tokens = [
        sum(max(len(row["input_ids"]), len(row["labels"])) for row in batch)
        for batch in (recombiner.batch(0, step, batch_tokens=200) for step in range(100))
    ]
    assert max(tokens) <= 200 + 2 * length + 1  # up to one sentence
    assert sum(tokens) > 0.95 * 100 * 200


def test_only_sentences_of_batches_that_were_asked_for_are_counted():
    _, _, recombiner = svo_sov("few-shot")
    again = Recombiner(recombiner.derivations, recombiner.examples)
    for step in (3, 4):
        recombiner.batch(0, step, batch_size=16)
    assert recombiner.tries.made >= 32
    again.batch(0, 3, batch_size=16)
    between = again.tries
    assert 16 <= between.made < 50 * 16
    resumed = Recombiner(recombiner.derivations, recombiner.examples)
    resumed.batch(0, 4, batch_size=16)
    assert between.plus(resumed.tries) == recombiner.tries


def test_words_are_not_cut():
    texts_of_corpus = ["unhappy birds sing", "unkind birds fly"]
    tokenizer = train_tokenizer("bpe", ["un happy kind birds sing fly"] * 2)
    joins = word_joins(tokenizer)
    examples, _ = encoded([(text, text) for text in texts_of_corpus], tokenizer)
    sources = [examples.source[position] for position in range(2)]
    inside = [
        next(at for at, token in enumerate(source) if token in joins.continuing)
        for source in sources
    ]
    lengths = [len(source) - 1 for source in sources]
    cut = [
        Tree.parse(f"[0:{at} {at}:{length}]") for at, length in zip(inside, lengths, strict=True)
    ]
    derivations = DerivationCorpus.of(Derivation(tree, list(tree.phrases)) for tree in cut)
    careful = Recombiner(derivations, examples, joins=joins)
    assert all(careful.recombine(0, seed)[0] == sources[0] for seed in range(20))
    careless = Recombiner(derivations, examples)
    assert any(careless.recombine(0, seed)[0] != sources[0] for seed in range(20))


def test_words_whose_ends_are_marked_are_exchanged():
    """Of a tokenizer that says where words end, not where they begin."""
    texts_of_corpus = ["happy birds sing", "kind birds fly"] * 2
    tokenizer = end_marking_tokenizer(texts_of_corpus, 16)
    texts = Bitext(texts_of_corpus, texts_of_corpus)
    examples = encode_bitext(texts, tokenizer)
    table = unit_table(tokenizer)
    trees = [Tree.from_phrases([(0, 1), (1, 2), (2, 3)])] * 4
    derivations = DerivationCorpus.of(Derivation(tree, list(tree.phrases)) for tree in trees)
    recombiner = Recombiner(derivations, examples, joins=word_joins(tokenizer), unit_table=table)
    assert max(len(row) for row in examples.source) > 4  # words have several tokens
    made = {
        "".join(tokenizer.convert_ids_to_tokens(recombiner.recombine(0, seed)[0]))
        for seed in range(20)
    }
    assert "kind</w>birds</w>sing</w>" in made
    assert made <= {
        f"{first}</w>birds</w>{last}</w>" for first in ("happy", "kind") for last in ("sing", "fly")
    }


def test_no_character_of_a_byte_level_vocabulary_is_cut():
    tokenizer = byte_level_tokenizer(["a house, café"])
    continuing = word_joins(tokenizer).continuing
    letter = tokenizer("ñ", add_special_tokens=False)["input_ids"]
    assert len(letter) == 2
    assert set(letter) <= continuing
    (comma,) = tokenizer(",", add_special_tokens=False)["input_ids"]
    assert comma not in continuing


def test_held_out_is_a_text_whatever_its_tokens():
    tokenizer = train_tokenizer("bpe", ["ab a b"] * 3, 300)
    held_out = HeldOut(["ab  a"], tokenizer)
    whole = tokenizer("ab a")["input_ids"]
    pieces = tokenizer.convert_tokens_to_ids(["▁", "a", "b", "▁a", "</s>"])
    assert pieces != whole
    assert whole in held_out
    assert pieces in held_out
    assert tokenizer("a ab")["input_ids"] not in held_out
    assert whole not in HeldOut([], tokenizer)


def test_what_has_unknown_words_is_not_held_out_without_them():
    tokenizer = train_tokenizer("word", ["a b c"])
    held_out = HeldOut(["a new b", "b c"], tokenizer)
    assert tokenizer("a b")["input_ids"] not in held_out
    assert tokenizer("b c")["input_ids"] in held_out


@given(corpora(), st.integers(0, 100))
def test_nothing_has_more_phrases_than_what_is_there(corpus, seed):
    trees, targets, pairs = corpus
    examples, _ = encoded(pairs)
    recombiner = Recombiner(DerivationCorpus.of(map(Derivation, trees, targets)), examples)
    most = max(tree.segments for tree in trees)
    rows = recombiner.batch(seed, 0, batch_size=4)
    assert all(len(row["segmentation"]) <= most for row in rows)


def test_frames_are_kept():
    examples, tokenizer = encoded([("<fr> a b", "A B"), ("<fr> c d", "C D")])
    derivations = DerivationCorpus.of([TWO_WORDS] * 2, prefix=1)
    recombiner = Recombiner(derivations, examples)
    made = {texts(tokenizer, recombiner.recombine(0, seed)) for seed in range(40)}
    assert made == {(f"<fr> {a} {b}", f"{a} {b}".upper()) for a in "ac" for b in "bd"}


def test_mistakes_are_told():
    examples, _ = encoded([("a b", "c d")])
    with pytest.raises(ValueError, match="2 derivations for 1 sentence pairs"):
        Recombiner(DerivationCorpus.of([None, None]), examples)
    longer = replace(TWO_WORDS, tree=Tree.parse("[0:1 1:9]"))
    with pytest.raises(ValueError, match="line 1 is shorter than its derivation"):
        Recombiner(DerivationCorpus.of([longer]), examples)
    for wrong in ({"rate": -1}, {"rare": 2}, {"overlap": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RecombinationSettings(**wrong)
