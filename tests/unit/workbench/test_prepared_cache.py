"""Sentences that stay encoded."""

from tiny_servers import served
from tiny_translators import translator_of

from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.workbench.models import CkyItem
from btg_seq2seq.workbench.prepared_cache import PreparedCache


def prepared(*texts):
    return translator_of("bpe").prepare(texts)


def test_texts_are_found_where_they_were_prepared():
    cache = PreparedCache(2**30, 16)
    both = prepared("the dog", "it")
    cache.add(both, ["the dog", "it"])
    place = cache.find("it")
    assert (place.prepared, place.rank) == (both, 1)
    assert cache.find("the") is None
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 2)


def test_the_least_recently_used_go_first():
    one = PreparedCache(2**30, 16)
    one.add(prepared("a b c"), ["a b c"])
    cache = PreparedCache(int(2.5 * one.size), 16)
    for text in ("a b c", "d e f"):
        cache.add(prepared(text), [text])
    assert cache.find("a b c")
    cache.add(prepared("g h i"), ["g h i"])
    assert cache.find("a b c")
    assert cache.find("d e f") is None
    assert cache.find("g h i")
    assert 0 < cache.size <= cache.most_bytes


def test_the_newer_of_two_preparations_counts():
    cache = PreparedCache(2**30, 16)
    old, new = prepared("it"), prepared("it")
    cache.add(old, ["it"])
    cache.add(new, ["it"])
    cache.forget(old)
    assert cache.find("it").prepared is new
    cache.forget_all()
    assert (len(cache), cache.size) == (0, 0)


def test_what_grows_is_measured_again():
    model = served(cache_bytes=2**30)
    text = "the dog saw the other dog"
    model.translate_cky([CkyItem(text, RuleSet())])
    before = model.cache.size
    # Rules that end inside of a unit make another encoding of the sentence.
    model.translate_cky([CkyItem("garden,garden", RuleSet([Rule("garden", "dog")]))])
    assert model.cache.size > before
    model.cache.most_bytes = 1
    model.translate_cky([CkyItem(text, RuleSet())])
    assert (len(model.cache), model.cache.size) == (0, 0)
