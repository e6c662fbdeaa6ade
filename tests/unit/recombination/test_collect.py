"""Derivations of a set, collected by a model."""

from itertools import combinations, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import tiny_config

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.derivations.proposals import one_boundary_moved
from btg_seq2seq.grammar import Leaf, SegmentationBatch, Tree, TreeBatch
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination import collect as collected
from btg_seq2seq.recombination.collect import collect_derivations
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.text import Bitext, Collator, encode_bitext, train_tokenizer


@pytest.fixture(scope="module")
def model_and_examples():
    data = generate(SvoSovConfig.tiny("few-shot"))["train"][:40]
    pairs = [(item.source, item.target) for item in data]
    sources, targets = zip(*pairs, ("s1 " * 30, "t1 t2"), ("s1", "t1 t2"), strict=True)
    tokenizer = train_tokenizer("word", [*sources, *targets])
    examples = encode_bitext(Bitext(list(sources), list(targets)), tokenizer)
    config = tiny_config("t5")
    config.vocab_size = len(tokenizer)
    torch.manual_seed(3)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3, max_grammar_length=20)
    return model, examples, tokenizer


def test_collected_derivations_are_the_most_probable(model_and_examples):
    model, examples, tokenizer = model_and_examples
    model.train()
    derivations = collect_derivations(model, examples, batch_size=7)
    assert model.training
    assert len(derivations) == len(examples)
    assert derivations[40] is None  # too long for the grammar
    assert derivations[41] == Derivation(Leaf(0, 1), [(0, 2)])
    collate = Collator(tokenizer.pad_token_id)
    model.eval()
    for position in range(10):
        batch = collate([examples[position]])
        with torch.no_grad():
            pair = model.read(batch["input_ids"], batch["attention_mask"], batch["labels"]).pair
            lengths = [*pair.source.lengths.tolist(), *pair.target.lengths.tolist(), 3]
            parsers = Parsers.of(model, pair, torch.tensor([min(lengths)]))
            trees = parsers.posterior.argmax
            length, segments = int(pair.target.lengths), trees[0].segments
            ways = [
                list(pairwise((0, *inner, length)))
                for inner in combinations(range(1, length), segments - 1)
            ]
            weights = [
                model.phrase_log_probs(
                    pair, PhrasePairs.forward(trees, SegmentationBatch.from_lists([way]))
                ).sum()
                for way in ways
            ]
            best = ways[int(torch.stack(weights).argmax())]
            assert derivations[position] == Derivation(trees[0], best)


def test_training_goes_on_after_collecting_was_interrupted(model_and_examples):
    model, examples, _ = model_and_examples

    def interrupted(batches, _):
        yield batches[0]
        raise KeyboardInterrupt

    model.train()
    with pytest.raises(KeyboardInterrupt):
        collect_derivations(model, examples, track=interrupted)
    assert model.training
    model.eval()


def test_long_sentences_have_small_batches(model_and_examples, monkeypatch):
    model, examples, _ = model_and_examples
    whole = collect_derivations(model, examples, compared=2)
    sizes = []
    collate = Collator.__call__
    monkeypatch.setattr(collected, "MOST_SCORES", 4000)
    monkeypatch.setattr(
        Collator, "__call__", lambda self, rows: sizes.append(len(rows)) or collate(self, rows)
    )
    cut = collect_derivations(model, examples, compared=2)
    assert [whole[row] for row in range(len(whole))] == [cut[row] for row in range(len(cut))]
    assert sum(sizes) == len(examples)
    assert sizes[-1] == 1
    assert max(sizes) > 1


def test_drawn_numbers_of_phrases_do_not_depend_on_batches(model_and_examples):
    model, examples, _ = model_and_examples
    one, other = (
        collect_derivations(model, examples, batch_size=size, segment_rate=0.5, seed=4)
        for size in (5, 16)
    )
    assert [one[position] for position in range(42)] == [other[position] for position in range(42)]
    counts = {len(one.phrases(position)) for position in range(40)}
    assert counts == {2, 3}


def likelihood(model, pair, derivation):
    """How well the phrases of a derivation translate each other, in both directions."""
    parsers = Parsers.of(model, pair, torch.tensor([derivation.tree.segments]))
    found = DerivationBatch.given(model, parsers, [derivation.tree], [derivation.segmentation])
    pairs = PhrasePairs.forward(found.trees, found.segmentations).reverse()
    return float(found.log_prob + model.phrase_log_probs(pair, pairs, reverse=True).sum(1))


@torch.no_grad()
def test_trees_are_compared_by_how_phrases_translate_each_other(model_and_examples):
    model, examples, tokenizer = model_and_examples
    model.eval()
    plain, compared = (collect_derivations(model, examples, compared=n) for n in (0, 12))
    collate = Collator(tokenizer.pad_token_id)
    changed = [position for position in range(40) if plain[position] != compared[position]]
    assert len(changed) > 5
    better = 0
    for position in changed:
        batch = collate([examples[position]])
        pair = model.read(batch["input_ids"], batch["attention_mask"], batch["labels"]).pair
        before, after = (likelihood(model, pair, each[position]) for each in (plain, compared))
        better += after > before
    # Trees are compared by the sum over target segmentations, not by the best one.
    assert better >= 0.8 * len(changed)


TREES = [Tree.parse(text) for text in ("[0:3 <3:5 5:9>]", "<[0:2 2:6] 6:9>", "[0:4 4:9]", "0:9")]


def test_words_alone_are_compared_with_nothing(model_and_examples):
    model, _, tokenizer = model_and_examples
    examples = encode_bitext(Bitext(["s1", "s2"], ["t1 t2", "t1"]), tokenizer)
    derivations = collect_derivations(model, examples, compared=2)
    assert [derivations.phrases(row) for row in (0, 1)] == [[[0, 1, 0, 2]], [[0, 1, 0, 1]]]


@given(st.integers(0, 2**20))
def test_one_boundary_is_moved_in_all_ways(first):
    batch = TreeBatch.from_trees(TREES)
    moves = [
        one_boundary_moved(batch, torch.full((4,), first + n), batch.lengths) for n in range(12)
    ]
    for row, tree in enumerate(TREES):
        own = set(tree.phrases)
        found = {str(move[row]) for move in moves}
        if row == 3:
            assert found == {"0:9"}
        for text in found:
            moved = Tree.parse(text)
            assert (moved.start, moved.stop, moved.segments) == (0, 9, tree.segments)
            assert [node.inverted for node in moved.nodes] == [node.inverted for node in tree.nodes]
            inner = [{stop for _, stop in each} - {9} for each in (moved.phrases, own)]
            assert len(inner[0] - inner[1]) <= 1
            for new in inner[0] - inner[1]:
                (old,) = inner[1] - inner[0]
                assert 0 < abs(new - old) <= 3
    assert len({str(move[2]) for move in moves}) == 6
    # Of [0:3 <3:5 5:9>], 3 can become 1, 2 or 4, and 5 can become 4, 6, 7 or 8.
    assert {str(move[0]) for move in moves} == {
        *("[0:3 <3:5 5:9>]", "[0:1 <1:5 5:9>]", "[0:2 <2:5 5:9>]", "[0:4 <4:5 5:9>]"),
        *("[0:3 <3:4 4:9>]", "[0:3 <3:6 6:9>]", "[0:3 <3:7 7:9>]", "[0:3 <3:8 8:9>]"),
    }


def test_no_phrase_becomes_longer_than_the_limit():
    batch = TreeBatch.from_trees(TREES[:3])
    for move in range(12):
        moved = one_boundary_moved(batch, torch.full((3,), move), torch.full((3,), 5))
        phrases = [phrase for tree in moved for phrase in tree.phrases]
        assert max(stop - start for start, stop in phrases) <= 5
