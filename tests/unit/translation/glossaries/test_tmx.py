"""Translation memories as other programs write them."""

from btg_seq2seq.translation.glossaries.tmx import read_tmx, write_tmx
from btg_seq2seq.translation.rules.rules import Rule

MEMORY = """<?xml version="1.0" encoding="utf-16"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="de-DE" segtype="sentence"/><body>
<tu><tuv xml:lang="de-DE"><seg>das <bpt i="1">&lt;b&gt;</bpt>alte<ept i="1">x</ept> Haus</seg></tuv>
<tuv lang="EN"><seg>the <hi>old</hi> house</seg></tuv></tu>
</body></tmx>"""


def test_codes_are_no_words():
    (entry,), language = read_tmx(MEMORY.encode("utf-16"), "memory")
    assert language == "de-DE"
    assert entry.terms == {"de-DE": ["das alte Haus"], "EN": ["the old house"]}


def test_all_languages_may_be_the_source():
    content = MEMORY.replace('srclang="de-DE"', 'srclang="*all*"').encode("utf-16")
    assert read_tmx(content, "memory")[1] == ""


def test_standard_programs_find_what_they_need():
    content = write_tmx([Rule("a", ["b", "c"], mode="prefer")], "de", "en").decode()
    assert '<!DOCTYPE tmx SYSTEM "tmx14.dtd">' in content
    for part in ('srclang="de"', 'datatype="plaintext"', 'o-tmf="btg-seq2seq"', "<seg>c</seg>"):
        assert part in content
