"""Term bases as other programs write them."""

from btg_seq2seq.translation.glossaries.tbx import read_tbx, write_tbx
from btg_seq2seq.translation.rules.rules import Rule

OLD = """<?xml version='1.0'?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="de"><text><body>
<termEntry id="1"><descrip type="subjectField">Bau</descrip>
  <langSet xml:lang="de"><tig><term>Haus</term></tig><tig><term>Gebäude</term></tig></langSet>
  <langSet xml:lang="en-GB"><tig><term>ho<hi>use</hi></term></tig>
    <tig><term>edifice</term>
      <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
</termEntry></body></text></martif>"""
NEW = """<tbx xmlns="urn:iso:std:iso:30042:ed-2" xml:lang="de"><text><body>
<conceptEntry id="1"><langSec xml:lang="de"><termSec><term> ein  Haus </term></termSec></langSec>
</conceptEntry></body></text></tbx>"""


def test_old_and_new_versions():
    (entry,), language = read_tbx(OLD.encode(), "old")
    assert language == "de"
    assert entry.terms == {"de": ["Haus", "Gebäude"], "en-GB": ["house", "edifice"]}
    assert entry.avoided == {"edifice"}
    (entry,), _ = read_tbx(NEW.encode(), "new")
    assert entry.terms == {"de": ["ein Haus"]}


def test_texts_are_escaped():
    content = write_tbx([Rule("a <b> & c", 'x "y"')], "de", "en")
    assert b"a &lt;b&gt; &amp; c" in content
    (entry,), _ = read_tbx(content, "own")
    assert entry.terms == {"de": ["a <b> & c"], "en": ['x "y"']}
