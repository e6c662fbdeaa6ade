"""Reports: complete, well-formed, self-contained and safe."""

from html.parser import HTMLParser

import pytest
from made_up_runs import SETTINGS, logged, made_up_run, saved

from btg_seq2seq.errors import UserError
from btg_seq2seq.reporting.page import MOST_RUNS, report
from btg_seq2seq.reporting.run_files import read_run, read_runs

VOID = {"meta"}
HOSTILE = "<script>alert(1)</script>\"'&]]>\x00\u202e"


class Reader(HTMLParser):
    """Ids, links and names of elements; all must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.names, self.headings = [], [], [], set(), []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.names.add(tag)

    def handle_data(self, data):
        if self.open and self.open[-1] in ("h2", "h3"):
            self.headings.append(data)


def test_one_run(tmp_path):
    text = report([read_run(made_up_run(tmp_path / "my-run"))], made="made by hand")
    read = Reader(text)
    for heading in ("my-run", "Loss", "BLEU", "Right trees", "Phrase lengths", "Settings"):
        assert heading in read.headings
    assert "Optimiser" not in read.headings  # nothing of it was logged
    assert len(read.ids) == len(set(read.ids))
    assert {link.removeprefix("#") for link in read.links} <= set(read.ids)
    assert "script" not in read.names
    assert "from step 100, the parsers learn" in text
    assert "made by hand" in text
    assert "default-src &#x27;none&#x27;" in text
    assert "cky <b>50</b>" in text


def test_several_runs(tmp_path):
    runs = read_runs([str(made_up_run(tmp_path / name)) for name in ("a", "b", "c")])
    read = Reader(report(runs))
    assert read.headings[:3] == ["a", "b", "c"]
    assert len(read.ids) == len(set(read.ids))


def test_hostile_text(tmp_path):
    entries = [{**entry, "<i>term": 1.0, "eval_<b>score": 2.0} for entry in logged()]
    settings = SETTINGS | {"output": HOSTILE, HOSTILE: HOSTILE}
    lines = [{**line, "reference": HOSTILE, "source": HOSTILE * 3} for line in saved(HOSTILE)]
    directory = made_up_run(tmp_path / "<u>run", settings, entries=entries, examples=lines)
    read = Reader(report(read_runs([str(directory)])))
    assert not {"script", "i", "u"} & read.names


def test_a_run_that_has_just_begun(tmp_path):
    run = read_run(made_up_run(tmp_path, finished=False, entries=[], examples=[]))
    text = report([run])
    assert "nothing was logged yet" in text
    assert Reader(text).headings[1:3] == ["Settings", "Settings other than the defaults"]


def test_themes_and_bounds(tmp_path):
    run = read_run(made_up_run(tmp_path))
    assert 'content="dark"' in report([run], "dark")
    with pytest.raises(UserError, match="7 runs are too many"):
        report([run] * (MOST_RUNS + 1))
    with pytest.raises(UserError, match="no run"):
        report([])
