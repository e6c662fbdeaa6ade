"""What a model computes for a batch of items."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_servers import served
from tiny_translators import CORPUS, TEXTS, same, translator_of

from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.tuning.model_files import estimate_tables
from btg_seq2seq.workbench.models import CkyItem, FlatItem, Models, PairItem, ServedModel

RULES = [[], [Rule("dog", "Haus")], [Rule("Haus", "dog"), Rule("Grund", mode="keep")]]
ITEMS = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(RULES), st.integers(1, 3)), min_size=1
)


@pytest.fixture(scope="module")
def model():
    return served()


@settings(max_examples=10)
@given(items=ITEMS)
def test_a_batch_of_cky_is_like_each_sentence_alone(model, items):
    found = model.translate_cky([CkyItem(text, RuleSet(own), n) for text, own, n in items])
    for one, (text, rules, nbest) in zip(found, items, strict=True):
        (expected,) = translator_of("bpe").translate([text], "cky", RuleSet(rules), nbest)
        same(one, expected)
        assert len(one.alternatives) == len(expected.alternatives)
        assert one.notices == expected.notices


def test_a_batch_of_flat_is_like_each_sentence_alone(model):
    items = [FlatItem(text, nbest) for text in TEXTS for nbest in (1, 3)]
    for one, item in zip(model.translate_flat(items), items, strict=True):
        (expected,) = translator_of("bpe").translate([item.text], "flat", nbest=item.nbest)
        same(one, expected)
        assert len(one.alternatives) == len(expected.alternatives)


def test_tuned_models_are_served_as_btg_translate_uses_them():
    translator = translator_of("bpe").for_another_thread()
    translator.tables = estimate_tables(translator, CORPUS, CORPUS[1:] + CORPUS[:1])
    before = [one.text for one in translator.translate(TEXTS, "cky")]
    weights = RankingWeights(lexical=1.0, word=3.0, phrase=-2.0)
    tuned = TunedSettings().with_mode("cky", {"weights": weights, "beam_size": 2}, {})
    translator.tuned = tuned.with_mode("flat", {"weights": RankingWeights(word=3.0)}, {})
    model = ServedModel("tuned", translator)
    by_chart = model.translate_cky([CkyItem(text, RuleSet()) for text in TEXTS])
    for found, expected in zip(by_chart, translator.translate(TEXTS, "cky"), strict=True):
        same(found, expected)
    flat = model.translate_flat([FlatItem(text) for text in TEXTS])
    for found, expected in zip(flat, translator.translate(TEXTS, "flat"), strict=True):
        same(found, expected)
    assert [one.text for one in by_chart] != before
    assert model.most_nbest == 2


def test_errors_count_sentences_as_they_were_given(model):
    items = [CkyItem("it", RuleSet()), CkyItem("it", RuleSet()), CkyItem("a " * 2000, RuleSet())]
    with pytest.raises(SentenceError) as caught:
        model.translate_cky(items)
    assert caught.value.sentence == 2


def test_what_failed_half_way_is_forgotten(model, monkeypatch):
    text = "von Grund auf klein"
    with monkeypatch.context() as patch:
        patch.setattr(
            "btg_seq2seq.translation.prepared_texts.PreparedTexts.translate_some",
            lambda *_: 1 / 0,
        )
        with pytest.raises(ZeroDivisionError):
            model.translate_cky([CkyItem(text, RuleSet())])
    assert model.cache.find(text) is None
    (found,) = model.translate_cky([CkyItem(text, RuleSet())])
    same(found, translator_of("bpe").translate([text], "cky")[0])


def test_warming_up_leaves_nothing_behind(model):
    model.warm_up()
    assert len(model.cache) == 0


def test_the_hook_sees_every_step(model):
    steps = []
    model = served()
    model.before_each_step(lambda *_: steps.append(1))
    model.translate_flat([FlatItem("it")])
    flat = len(steps)
    assert flat > 2
    model.translate_cky([CkyItem("the dog saw it", RuleSet())])
    assert len(steps) > 2 * flat


def test_scores_and_alignments(model):
    pairs = [PairItem("the dog saw", "das Haus"), PairItem("it", "it")]
    assert len(model.score(pairs)) == 2
    assert model.align(pairs, segments=1)[0].derivation.phrases[0].source == "the dog saw"


def test_models_by_name_and_language():
    models = Models([served("a"), served("b", ("en", "pt-BR")), served("c", ("und", "und"))])
    assert models.named(None).name == "a"
    assert models.named("c").name == "c"
    assert models.between("en", "PT").name == "b"
    assert models.between(None, "pt-BR").name == "b"
    assert models.between("und", None).name == "c"
    assert (models.sources, models.targets) == (["de", "en"], ["en", "pt-BR"])
    with pytest.raises(UserError, match="fr to any language; there is de-en, en-pt-BR, und-und"):
        models.between("fr", None)
    with pytest.raises(UserError, match="there are a, b, c"):
        models.named("d")
