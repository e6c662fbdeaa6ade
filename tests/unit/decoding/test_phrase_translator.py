"""A dictionary as phrase translator: decoding and scoring need no model, and sums can be listed."""

import math
from collections import defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import forest, phrases
from tiny_units import table_of

from btg_seq2seq.decoding.chart.cky import prepare
from btg_seq2seq.decoding.chart.target_mass import target_mass
from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.flat import decode_flat
from btg_seq2seq.decoding.phrase_translator import KBest, PhraseTranslator
from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.text.units import begins_unit

DAS, HAUS, IST, KLEIN, SEHR = range(5)
THE, HOUSE, HOME, IS, SMALL, VERY, LITTLE = range(10, 17)
ENTRIES = {
    (DAS,): {(THE,): 0.9, (THE, THE): 0.1},
    (HAUS,): {(HOUSE,): 0.6, (HOME,): 0.4},
    (DAS, HAUS): {(THE, HOUSE): 0.7, (HOME,): 0.3},
    (IST,): {(IS,): 1.0},
    (KLEIN,): {(SMALL,): 0.5, (LITTLE,): 0.5},
    (IST, KLEIN): {(IS, SMALL): 0.8, (SMALL, IS): 0.2},
    (SEHR,): {(VERY,): 1.0},
    (SEHR, KLEIN): {(VERY, SMALL): 1.0},
    (DAS, HAUS, IST, KLEIN): {(THE, HOUSE, IS, SMALL): 0.5, (): 0.25},
}
SENTENCES = [(DAS, HAUS, IST, KLEIN), (HAUS, IST, SEHR, KLEIN), (KLEIN,)]
EVERYTHING = DecodingSettings(beam_size=1000, span_threshold=0.0, flat_weight=0.3, segment_rate=0.4)


class Dictionary(PhraseTranslator):
    """Translates what it knows; sentences that it does not know have no translation as a whole."""

    def __init__(self, entries, sentences):
        self.entries, self.sentences = entries, sentences
        self.lengths = [len(sentence) for sentence in sentences]
        self.asked = []

    def meet(self, first, second):
        """Whether two phrases may meet in the target."""
        if self.unit_table is None:
            return True
        (one, _), (two, _) = first, second
        return bool(begins_unit(self.unit_table[one[-1]], self.unit_table[two[0]]))

    def entry(self, phrase):
        sentence, start, stop = phrase
        return self.entries.get(self.sentences[sentence][start:stop], {})

    def key(self, phrase):
        sentence, start, stop = phrase
        return self.sentences[sentence][start:stop]

    def best(self, entry, least):
        return sorted(
            ((string, math.log(share)) for string, share in entry.items() if len(string) >= least),
            key=lambda pair: -pair[1],
        )

    def translate_sentences(self, sentences):
        entries = (self.entries.get(self.sentences[sentence], {}) for sentence in sentences)
        return KBest.of(self.best(entry, 0) for entry in entries)

    def translate_phrases(self, phrases):
        self.asked += phrases
        return KBest.of(self.best(self.entry(phrase), 1) for phrase in phrases)

    def score_sentences(self, sentences, targets):
        return [
            math.log(self.entries.get(self.sentences[sentence], {}).get(target, 1e-300))
            for sentence, target in zip(sentences, targets, strict=True)
        ]

    def can_write(self, sentence, target):
        return target in self.entries.get(self.sentences[sentence], {})

    def score_prefixes(self, phrases, targets):
        with np.errstate(divide="ignore"):
            return [
                np.log(
                    [self.entry(phrase).get(target[: size + 1], 0.0) for size in range(len(target))]
                )
                for phrase, target in zip(phrases, targets, strict=True)
            ]


def log_masses(dictionary, sentence, scores, grammar):
    """Log-probability of every string: all trees, all translations of their phrases."""
    length, masses = dictionary.lengths[sentence], defaultdict(list)
    whole = dictionary.entries.get(dictionary.sentences[sentence], {})
    # As long as there are trees at all; one token has only itself.
    flat = 1.0 if length == 1 else EVERYTHING.flat_weight
    for string, share in whole.items():
        masses[string].append(math.log(flat) + math.log(share))
    most = min(length, grammar.max_segments)
    rate = EVERYTHING.segment_rate
    shares = {n: rate * (1 - rate) ** (n - 2) for n in range(2, most)} | {
        most: (1 - rate) ** (most - 2)
    }
    for n in range(2, most + 1):
        listed = forest(0, length, n, length)
        log_probs = listed.log_weights(torch.from_numpy(scores)).log_softmax(0).tolist()
        for tree, log_prob in zip(listed.trees, log_probs, strict=True):
            tables = [dictionary.entry((sentence, *leaf)) for leaf in phrases(tree)]
            for choice in product(*(table.items() for table in tables)):
                if not all(map(dictionary.meet, *zip(*pairwise(choice), strict=True))):
                    continue
                string = tuple(token for part, _ in choice for token in part)
                share = math.prod(share for _, share in choice)
                weight = (1 - flat) * shares[n] * share
                masses[string].append(math.log(weight) + log_prob)
    return {string: float(np.logaddexp.reduce(own)) for string, own in masses.items()}


def grammars():
    generator = np.random.default_rng(0)
    lengths = [len(sentence) for sentence in SENTENCES]
    counts = [math.comb(length + 1, 3) for length in lengths]
    uniform = [np.zeros((count, 2)) for count in counts]
    drawn = [generator.normal(0, 2, (count, 2)) for count in counts]
    settings = {"max_segments": 3}
    return [
        (uniform, SourceGrammar.uniform(lengths, **settings)),
        (drawn, SourceGrammar.given(drawn, **settings)),
    ]


@pytest.mark.parametrize("continuing", [None, [SMALL], [HOUSE, SMALL, LITTLE]])
@pytest.mark.parametrize(("scores", "grammar"), grammars())
def test_cky_and_target_mass_are_the_sum_over_all_derivations(scores, grammar, continuing):
    dictionary = Dictionary(ENTRIES, SENTENCES)
    if continuing is not None:  # phrases may not begin with these tokens, unless they are first
        dictionary.unit_table = table_of(LITTLE + 1, continuing).numpy()
    results = prepare(dictionary, grammar, EVERYTHING).decode(nbest=None)
    for sentence, result in enumerate(results):
        expected = log_masses(dictionary, sentence, scores[sentence], grammar)
        found = {own.tokens: own.log_prob for own in result.hypotheses}
        assert found == pytest.approx(expected)
        assert expected[result.hypotheses[0].tokens] == pytest.approx(max(expected.values()))
        targets = [*expected, (SMALL, SMALL)]
        several = Dictionary(ENTRIES, [SENTENCES[sentence]] * len(targets))
        several.unit_table = dictionary.unit_table
        split_scores = [scores[sentence]] * len(targets)
        own_grammar = SourceGrammar.given(split_scores, max_segments=3)
        masses = target_mass(several, own_grammar, targets, EVERYTHING)
        assert [mass.log_mass for mass in masses] == pytest.approx([*expected.values(), -math.inf])
        for own in result.hypotheses:
            mass = masses[targets.index(own.tokens)]
            assert mass.log_best == pytest.approx(own.best_log_prob)
    assert len({*map(dictionary.key, dictionary.asked)}) == len(dictionary.asked)


def test_flat_decoding():
    first, unknown, word = decode_flat(Dictionary(ENTRIES, SENTENCES), nbest=2)
    assert [own.tokens for own in first] == [(THE, HOUSE, IS, SMALL), ()]
    assert first[0].log_prob == pytest.approx(math.log(0.5))
    assert unknown == []
    assert word[0].derivation.phrases[0].source == (0, 1)


def test_rules_choose_by_the_scores_of_the_dictionary():
    rule = RuleSpan(1, 2, ((HOUSE,), (HOME,)), 7)
    (result, *_) = prepare(
        Dictionary(ENTRIES, SENTENCES), SourceGrammar.uniform([4, 4, 1], max_segments=3), EVERYTHING
    ).decode([[rule], [], []], nbest=None)
    assert result.hypotheses
    for own in result.hypotheses:
        (phrase,) = [phrase for phrase in own.phrases if phrase.rule == 7]
        assert (phrase.start, phrase.stop) == (1, 2)
        share = {(HOUSE,): 0.6, (HOME,): 0.4}[phrase.tokens]
        assert phrase.log_prob == pytest.approx(math.log(share))


def test_targets_that_cannot_be_scored_are_equally_likely():
    rule = RuleSpan(1, 2, ((HOUSE,), (LITTLE,)), 7)
    (result, *_) = prepare(
        Dictionary(ENTRIES, SENTENCES), SourceGrammar.uniform([4, 4, 1], max_segments=3), EVERYTHING
    ).decode([[rule], [], []])
    assert math.log(0.5) in [phrase.log_prob for phrase in result.hypotheses[0].phrases]


strings = st.lists(
    st.tuples(st.lists(st.integers(0, 9), max_size=3).map(tuple), st.floats(-5, 0)), max_size=3
)


@given(st.lists(strings, max_size=6), st.randoms(use_true_random=False))
def test_batches_are_joined_in_order(lists, random):
    assert KBest.of(lists).lists() == lists
    ranks = [*range(len(lists))]
    random.shuffle(ranks)
    cuts = sorted(random.choices(range(len(lists) + 1), k=2))
    batches = [ranks[: cuts[0]], ranks[cuts[0] : cuts[1]], ranks[cuts[1] :]]
    found = [(batch, KBest.of(lists[rank] for rank in batch)) for batch in batches]
    assert KBest.joined(found).lists() == lists
