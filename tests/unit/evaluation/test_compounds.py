"""Compound accuracy, on hand-made cases."""

import pytest
from checks import refused

from btg_seq2seq.evaluation.compounds import Compound, compound_score, is_right, read_lexicon

LEXICON = {
    "the": [],
    "every": ["每", "所有"],
    "doctor": ["医生"],
    "clown": ["小丑"],
    "small": ["小"],
    "lazy": ["懒"],
    "asked": ["问"],
    "liked": ["喜欢", ""],
    "near": ["附近"],
    "mod0": ["他喜欢的"],
    "mod1": ["店里", "商店"],
}


def test_compounds_are_read_by_their_parts():
    compound = Compound.parse("asked every lazy doctor he liked")
    assert compound == Compound(("asked",), ("every", "lazy"), "doctor", ("mod0",))
    assert compound.atoms == ("asked", "every", "lazy", "doctor", "mod0")
    assert Compound.parse("the dog") == Compound((), ("the",), "dog", ())
    with refused("'lazy doctor' is no compound", "determiner"):
        Compound.parse("lazy doctor")
    with refused("no compound"):
        Compound.parse("near the")


@pytest.mark.parametrize(
    ("compound", "kind", "translation", "right"),
    [
        ("every lazy doctor", "NP", "每个懒惰的医生都来了。", True),
        ("every lazy doctor", "NP", "每 个 懒惰 的 医生", True),  # spaces do not count
        ("every lazy doctor", "NP", "医生每个懒惰", False),  # modifiers after the noun
        ("every lazy doctor", "NP", "医生来了，每个懒惰的医生都来了", True),  # one of the nouns
        ("every lazy doctor", "NP", "每个医生都来了", False),  # an atom is missing
        ("the doctor", "NP", "医生", True),  # nothing to look for
        ("the doctor", "NP", "", False),
        ("the small clown", "NP", "小丑", False),  # the adjective is not that of the noun
        ("the small clown", "NP", "小小丑", True),
        ("the doctor at the store", "NP", "商店的医生", True),
        ("the doctor at the store", "NP", "医生在商店", False),
        ("near the doctor at the store", "PP", "医生附近，店里", False),
        ("asked the doctor at the store", "VP", "在店里问医生", True),
        ("asked the doctor at the store", "VP", "问医生，在店里", True),  # where he asked
        ("asked every doctor", "VP", "问医生每个", False),
        ("liked the doctor", "VP", "医生", True),  # one of the translations is empty
    ],
)
def test_single_compounds(compound, kind, translation, right):
    assert is_right(compound, kind, translation, LEXICON) == right


def test_an_atom_without_translations_is_named():
    with refused("the lexicon lacks 'fly'"):
        is_right("the fly", "NP", "", LEXICON)


def test_percentages():
    compounds = ["the doctor"] * 2 + ["every clown"] * 2
    kinds = ["NP", "NP", "NP", "NP"]
    score = compound_score(["医生", "医生们", "小丑", "每个小丑"], compounds, kinds, LEXICON)
    assert score.right == [True, True, False, True]
    assert score.values == {
        "compound_accuracy": 75.0,
        "compound_accuracy_np": 75.0,
        "compound_all_contexts": 50.0,
    }
    with refused("1 translations, 2 compounds"):
        compound_score(["a"], compounds[:2], kinds[:2], LEXICON)


def test_the_lexicon_file(tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_text("the\t/\nbuilding\t楼\nliked\t喜欢/\nbuilding\t房子\n", encoding="utf-8")
    assert read_lexicon(path) == {"the": [], "building": ["楼", "房子"], "liked": ["喜欢", ""]}
    path.write_text("the\t/\nbroken\n", encoding="utf-8")
    with refused(str(path), "line 2", "broken"):
        read_lexicon(path)
