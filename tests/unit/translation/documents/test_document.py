"""Documents come out as they went in: every tag and placeholder once, white space as it was."""

import re
import time
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Leaf
from btg_seq2seq.translation.documents.document import Document, translate_documents
from btg_seq2seq.translation.documents.markup import tokens_of
from btg_seq2seq.translation.documents.placeholders import placeholders
from btg_seq2seq.translation.rules.rules import Rule, RuleSet
from btg_seq2seq.translation.translation import TextDerivation, TextPhrase, Translation

LEXICON = {
    "das": "the",
    "Das": "The",
    "alte": "old",
    "Haus": "house",
    "ist": "is",
    "klein": "small",
}


class FakeTranslator:
    """Translates word by word, or as ``reorder`` says; obeys rules as a translator does.

    ``reorder`` takes the number of phrases and returns their order. ``extra`` is what the model
    makes up beside each word; ``forgets`` what it does not obey.
    """

    def __init__(self, reorder=range, extra="", forgets=False):
        self.reorder, self.extra, self.forgets = reorder, extra, forgets
        self.calls = []

    def translate(self, texts, mode=None, rules=(), nbest=1, **settings):
        self.calls.append((mode, list(texts)))
        rules = rules if isinstance(rules, RuleSet) else RuleSet(rules)
        return [self._translate(text, mode, rules) for text in texts]

    def align(self, sources, targets, segments=None):
        self.calls.append(("align", list(sources)))
        assert len(sources) == len(targets)
        aligned = [self._translate(source, "cky", RuleSet()) for source in sources]
        assert [one.text for one in aligned] == list(targets)
        return aligned

    def _translate(self, text, mode, rules):
        matches = [] if self.forgets else rules.find(text)[0]
        spans = [(match.start, match.stop, match.rule) for match in matches]
        borders = sorted({0, len(text)} | {place for span in spans for place in span[:2]})
        for first, last in pairwise(borders):
            if not any(start <= first < stop for start, stop, _ in spans):
                words = re.compile(r"\w+|[^\w\s]").finditer(text, first, last)
                spans += [(*word.span(), None) for word in words]
        spans.sort(key=lambda span: span[:2])
        phrases, target = [], ""
        # Source spans tile the text, as those of a derivation do.
        starts = [0, *(start for start, _, _ in spans[1:]), len(text)]
        for rank in self.reorder(len(spans)):
            start, stop, rule = spans[rank]
            words = " ".join(text[start:stop].split())
            own = LEXICON.get(words, words.upper()) + self.extra
            if rule is not None:
                own = words if rule.mode == "keep" else rule.targets_for(words)[0]
            before = len(target)
            target += (" " if target else "") + own
            phrases.append(
                TextPhrase(
                    words,
                    own,
                    (rank, rank + 1),
                    (starts[rank], starts[rank + 1]),
                    (before, len(target)),
                    0.0,
                    rule,
                )
            )
        derivation = None
        if phrases:
            derivation = TextDerivation(Leaf(0, 1), tuple(phrases))  # nobody looks at the tree
        if mode == "flat" and derivation is not None:
            whole = TextPhrase(text, target, (0, 1), (0, len(text)), (0, len(target)), 0.0)
            derivation = TextDerivation(Leaf(0, 1), (whole,))
        return Translation(target, 0.0, (), derivation, source=text, mode=mode or "cky")


def backwards(count):
    return range(count - 1, -1, -1)


def translated(text, markup="html", translator=None, **options):
    (document,) = translate_documents(
        translator or FakeTranslator(), [text], markup=markup, **{"mode": "cky", **options}
    )
    return document.text


# ---- tags ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("das <b>alte</b> Haus", "the <b>old</b> house"),
        ("<p>das <b>alte <i>Haus</i></b></p>\n", "<p>the <b>old <i>house</i></b></p>\n"),
        ("  <b>das</b>  \n Haus ", "  <b>the</b> house "),
        ("das<br>Haus", "the<br>house"),
        ("das <img src='x'> Haus", "the <img src='x'> house"),
        ("das Haus<sup>2</sup> ist", "the house<sup>2</sup> is"),
        ("<a id=x></a>das Haus", "<a id=x></a>the house"),
        ("das&nbsp;Haus", "the&nbsp;house"),
        ("das &amp; Haus", "the &amp; house"),
        ("das H&auml;us", "the HÄUS"),
        ("das &lt;b&gt; Haus", "the &lt;b&gt; house"),
        ("das <code>x&nbsp;= <b>1</b></code> Haus", "the <code>x&nbsp;= <b>1</b></code> house"),
        ("das <span translate='no'>Haus</span>", "the <span translate='no'>Haus</span>"),
        ("<script>das Haus</script> das", "<script>das Haus</script> the"),
        ("<!-- das --> das", "<!-- das --> the"),
        ("<p>das <b>Haus<p>ist</b> klein", "<p>the <b>house<p>is</b> small"),
    ],
)
def test_html(source, expected):
    assert translated(source) == expected


def test_tags_follow_their_words():
    translator = FakeTranslator(backwards)
    source = "das <b>alte <i>Haus</i></b> <u>ist</u>"
    assert translated(source, translator=translator) == "<u>is</u> <b><i>house</i> old</b> the"


def test_plain_text_keeps_its_tags_and_escapes_nothing():
    source = "das <b>alte</b> Haus & <x> ist 3 < 4 &nbsp; klein"
    expected = "the <b>old</b> house & <x> is 3 < 4 &nbsp; small"
    assert translated(source, "text") == expected


def test_xml_elements_in_the_middle_of_text_are_inside_it():
    source = "<D><T>das <Q n='1'>Haus</Q></T>\n<T>ist</T></D>"
    assert translated(source, "xml") == "<D><T>the <Q n='1'>house</Q></T>\n<T>is</T></D>"


def test_flat_translations_with_tags_are_aligned():
    translator = FakeTranslator(backwards)
    source = "das <b>alte</b> Haus<p>ist klein<p><i>ist {x}</i>"
    text = translated(source, translator=translator, mode="flat")
    assert text == "house <b>old</b> the<p>small is<p><i>{x} is</i>"
    assert translator.calls == [
        ("flat", ["das alte Haus", "ist klein"]),
        ("cky", ["ist {x}"]),
        ("align", ["das alte Haus"]),
    ]


# ---- placeholders --------------------------------------------------------------------------


def test_placeholders_are_kept_with_the_space_around_them():
    source = 'das "%s" ist {count}px: https://x.org/a?b=1. das'
    expected = 'the "%s" is {count}PX : https://x.org/a?b=1. the'
    assert translated(source, "text", cut="none") == expected


def test_placeholders_that_are_not_obeyed_are_put_back():
    found = translated("das {x} ist %s", "text", FakeTranslator(forgets=True))
    assert sorted(found.split()) == sorted(["the", "{x}", "{", "X", "}", "is", "%s", "%", "S"])


def test_what_the_model_makes_up_is_no_placeholder():
    assert translated("das {x}", "text", FakeTranslator(extra=" {x}")).split() == ["the", "{x}"]


def test_protection_goes_before_rules():
    rules = [Rule("Haus {x} ist", "y"), Rule("das", "a")]
    assert translated("das Haus {x} ist", "text", rules=rules) == "a house {x} is"


# ---- white space ---------------------------------------------------------------------------


def test_white_space_between_sentences_is_kept():
    source = "  Das Haus.  Ist klein!\n\n\tDas Haus. \r\nist\n"
    expected = "  The house .  IST small !\n\n\tThe house . \r\nis\n"
    assert translated(source, "text", language="de") == expected


def test_wrapped_paragraphs():
    source = "Das alte\nHaus. Ist\n\nklein"
    assert translated(source, "text", cut="paragraphs") == "The old house . IST\n\nsmall"


def test_nothing_to_translate():
    for text in ("", " \n", "<br>", "...", "<!-- x", "&nbsp;"):
        translator = FakeTranslator()
        assert translated(text, translator=translator) == text
        assert translator.calls == []


def test_refusals():
    with pytest.raises(UserError, match="markup is text, html or xml"):
        Document.read("x", "latex")
    with pytest.raises(UserError, match="cut is none, lines or paragraphs"):
        Document.read("x", cut="words")
    with pytest.raises(UserError, match="no code of a language"):
        Document.read("x", language="../de")
    with pytest.raises(UserError, match="more than 100 tags"):
        Document.read("<b>" * 200 + "x" + "</b>" * 200, "html")
    with pytest.raises(UserError, match="list of documents"):
        translate_documents(FakeTranslator(), "x")


def test_large_documents_take_linear_time():
    started = time.process_time()
    translator = FakeTranslator()
    for text, markup in (
        ("Das <b>Haus</b> {x}. " * 1_500, "html"),
        ("<b>Das </b>Haus. " * 1_500, "text"),
        ("<a>" * 50 + "Haus " * 2_000 + "</a>" * 50, "xml"),
        ("<i>" * 9_000 + "x", "html"),
        ("x</i>" * 9_000, "html"),
        ("<p translate=no>" * 9_000, "html"),
    ):
        translated(text, markup, translator)
    assert time.process_time() - started < 60  # quadratic time would be minutes


# ---- properties ----------------------------------------------------------------------------

WORDS = st.sampled_from(["das", "alte", "Haus", "ist", "klein", ".", "日本", "x<y", "&", "\u00a0"])
MARKS = st.sampled_from(
    ["%s", "{name}", "{}", "%(x)d", "&nbsp;", "&lt;", "https://a.b/c", "me@x.org", "<br>", "<img/>"]
)
HOSTILE = st.sampled_from(
    ["<", ">", "</", "<b", "</b>", "<i>", "<p>", "<!--", "'", '="', "]]>", "{"]
)
SPACES = st.sampled_from(["", " ", "  ", "\n", ". "])


def nested(inside):
    names = st.sampled_from(["b", "i", "a href='x>y'", "p", "code", "div", "x-y"])
    return st.builds(
        lambda name, text: f"<{name}>{text}</{name.split()[0]}>",
        names,
        st.lists(st.tuples(inside, SPACES), max_size=4).map(
            lambda many: "".join(map("".join, many))
        ),
    )


WELL_FORMED = st.lists(
    st.tuples(st.recursive(WORDS | MARKS, nested, max_leaves=12), SPACES), max_size=8
).map(lambda many: "".join(map("".join, many)))
ANY = st.lists(st.tuples(WORDS | MARKS | HOSTILE, SPACES), max_size=20).map(
    lambda many: "".join(map("".join, many))
)
ORDERS = st.randoms(use_true_random=False).map(
    lambda random: lambda count: random.sample(range(count), count)
)
TRANSLATORS = st.builds(
    FakeTranslator, ORDERS, st.sampled_from(["", " {name}", "%s", "<b>", "&lt;"]), st.booleans()
)


def tags(text, markup="html"):
    return Counter(token.raw for token in tokens_of(text, markup) if token.kind != "text")


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.is_well_formed = [], True

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        self.is_well_formed &= bool(self.open) and self.open.pop() == tag


def is_well_formed(text):
    parser = Balance()
    parser.feed(text)
    parser.close()
    return parser.is_well_formed and not parser.open


@given(WELL_FORMED, TRANSLATORS, st.sampled_from(["none", "lines"]))
def test_every_tag_is_written_once_and_stays_well_formed(text, translator, cut):
    found = translated(text, "html", translator, cut=cut)
    assert tags(found) == tags(text)
    assert is_well_formed(found) == is_well_formed(text)


@given(ANY, TRANSLATORS, st.sampled_from(["html", "xml", "text"]))
def test_hostile_markup_stays_as_it_is(text, translator, markup):
    if markup == "text":
        translator.extra = ""  # a model may write what looks like a tag: it is text there
    found, given = tags(translated(text, markup, translator), markup), tags(text, markup)
    # In plain text, what is left when tags are taken out may look like a tag, such as "x<y<br>>".
    assert (found if markup != "text" else found & given) == given


@given(ANY.filter(lambda text: "<" not in text), TRANSLATORS)
def test_every_placeholder_is_written_once(text, translator):
    def marks(text):
        return Counter(text[slice(*span)] for span in placeholders(text))

    found = translated(text, "text", translator)
    missing = {mark: count for mark, count in marks(text).items() if found.count(mark) < count}
    assert missing == {}
    if not translator.extra:
        assert marks(found) == marks(text)
