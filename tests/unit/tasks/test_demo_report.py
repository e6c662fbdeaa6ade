"""The demonstration's output: readable, and with commands that can be copied."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from btg_seq2seq.grammar import Tree
from btg_seq2seq.tasks import demo, demo_report
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.translation.translation import TextDerivation, TextPhrase


@pytest.fixture(scope="module")
def data():
    return generate(SvoSovConfig.tiny("few-shot", words="readable"))


def printed(function, *arguments):
    stream = StringIO()
    function(Console(file=stream, width=40), *arguments)
    return stream.getvalue()


def test_the_introduction_names_the_phrases(data):
    text = printed(demo_report.introduce, data, demo.TASK)
    shown = demo_report.shown_item(data["train"])
    for part in (shown.source, shown.target, *(repr(phrase) for phrase, _ in shown.phrase_pairs)):
        assert part in text


def test_the_shown_item_needs_no_quotes(data):
    assert all("'" not in demo_report.shown_item(items).source for items in data.values())


def test_the_rule_is_of_words_that_occur(data):
    rule = demo_report.rule_for(data)
    shown = demo_report.shown_item(data["test"])
    assert rule.source in shown.source
    assert rule.target[0] not in shown.target
    assert any(rule.target[0] in item.target for item in data["test"])


def test_a_derivation_is_drawn_with_numbers():
    source, text = "my dog has met Anna", "balo kiru nu"
    spans = {(0, 2): ((0, 6), (0, 4)), (4, 5): ((15, 19), (4, 9)), (2, 4): ((6, 15), (9, 12))}
    phrases = tuple(
        TextPhrase.between(
            source, text, units=tokens, source_span=here, target_span=there, log_prob=0.0
        )
        for tokens, (here, there) in spans.items()
    )
    assert demo_report.drawing(TextDerivation(Tree.parse("[0:2 <2:4 4:5>]"), phrases)).split(
        "\n"
    ) == [
        "  source   1 my dog   2 has met   3 Anna",
        "  target   1 balo     3 kiru      2 nu",
        "  tree     [1 <2 3>]   [...] keeps the order, <...> inverts it",
    ]


def test_commands_are_not_broken_into_lines(data):
    output = Path("a directory with spaces") / "runs"
    text = printed(demo_report.suggest, output, demo_report.rule_for(data))
    assert "btg translate 'a directory with spaces/runs/btg' " in text
    rule = demo_report.rule_for(data)
    assert f"--rule '{rule.source}={rule.target[0]}'\n" in text
    assert "btg serve 'a directory with spaces/runs/btg'\n" in text
    assert text.count("btg ") == 4
