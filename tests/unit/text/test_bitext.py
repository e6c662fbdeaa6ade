"""Files of sentences: what is written is read back, and what is wrong is named by file and line."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text import Bitext, read_lines, write_lines

# A line cannot contain its own end, and a mark of byte order or a carriage return is dropped.
sentences = st.text(st.characters(exclude_characters="\n\r\ufeff", exclude_categories=["Cs"]))


@pytest.mark.parametrize("name", ["text.en", "text.en.gz"])
@given(lines=st.lists(sentences))
def test_what_is_written_is_read_back(tmp_path_factory, name, lines):
    path = tmp_path_factory.mktemp("bitext") / name
    write_lines(path, lines)
    assert read_lines(path) == lines
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n".encode(), ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"]),
    ],
)
def test_only_ends_of_line_end_a_line(tmp_path, content, lines):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert read_lines(path) == lines
    (tmp_path / "text.gz").write_bytes(gzip.compress(content))
    assert read_lines(tmp_path / "text.gz") == lines


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_bad_utf8_is_named_by_file_and_line(tmp_path, suffix):
    path = tmp_path / f"train.de{suffix}"
    content = b"gut\n\nauch\n" + b"nicht gut: \xe4hnlich\nja\n"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(ValueError, match=r"train\.de.*line 4 is not UTF-8 \(byte 0xe4"):
        read_lines(path)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.en: there is no such file"):
        read_lines(tmp_path / "nowhere.en")
    with pytest.raises(ValueError, match="cannot be read"):
        read_lines(tmp_path)
    for content in (b"not gzip", gzip.compress(b"a\n" * 100)[:-10], b"\x1f\x8b\x08"):
        (tmp_path / "broken.gz").write_bytes(content)
        with pytest.raises(ValueError, match=r"broken\.gz: the file cannot be read"):
            read_lines(tmp_path / "broken.gz")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "new" / "text"
    write_lines(path, ["old"])
    with pytest.raises(ValueError, match="line 2 contains an end of line"):
        write_lines(path, ["a", "b\nc"])
    with pytest.raises(ValueError, match="surrogates not allowed"):
        write_lines(path, ["\ud800"])
    assert read_lines(path) == ["old"]
    assert [file.name for file in path.parent.iterdir()] == ["text"]


def test_the_same_lines_give_the_same_bytes(tmp_path):
    write_lines(tmp_path / "one.gz", ["a", "b"])
    write_lines(tmp_path / "two.gz", ["a", "b"])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_bitext_from_files(tmp_path):
    write_lines(tmp_path / "train.de.gz", ["das Haus", "", "ja"])
    write_lines(tmp_path / "train.en", ["the house", "nothing", "yes"])
    write_lines(tmp_path / "train.tree", ["[0:1 1:2]", "", "0:1"])
    bitext = Bitext.from_files(tmp_path / "train.de.gz", tmp_path / "train.en")
    assert len(bitext) == 3
    assert bitext.source == ["das Haus", "", "ja"]
    assert bitext.target == ["the house", "nothing", "yes"]
    assert bitext.trees is None
    assert "train.de.gz" in bitext.name
    assert "train.en" in bitext.name
    files = [tmp_path / name for name in ("train.de.gz", "train.en", "train.tree")]
    assert Bitext.from_files(*files).trees == ["[0:1 1:2]", "", "0:1"]


def test_files_that_do_not_correspond(tmp_path):
    write_lines(tmp_path / "train.de", ["a", "b", "c"])
    write_lines(tmp_path / "train.en", ["a", "b"])
    write_lines(tmp_path / "train.tree", ["0:1"])
    source, target, trees = (tmp_path / f"train.{side}" for side in ("de", "en", "tree"))
    with pytest.raises(ValueError, match=r"train\.de has 3 lines, but .*train\.en has 2"):
        Bitext.from_files(source, target)
    with pytest.raises(ValueError, match=r"train\.de has 3 lines, but .*train\.tree has 1"):
        Bitext.from_files(source, source, trees)
    with pytest.raises(ValueError, match="mine: 1 source sentences, but 2 target"):
        Bitext(["a"], ["a", "b"], name="mine")
    with pytest.raises(ValueError, match="mine: 1 sentences, but 2 trees"):
        Bitext(["a"], ["a"], ["0:1", "0:1"], name="mine")


def test_a_tree_that_is_none_is_named_by_line(tmp_path):
    write_lines(tmp_path / "text", ["a b", "a b"])
    write_lines(tmp_path / "trees", ["0:2", "[0:1 1:2"])
    with pytest.raises(ValueError, match=r"trees: line 2: "):
        Bitext.from_files(tmp_path / "text", tmp_path / "text", tmp_path / "trees")


def test_segmentations_are_lengths_of_target_phrases(tmp_path):
    files = {"source": "a b\nc d\n", "target": "x y z\nw v\n", "tree": "[0:1 1:2]\n<0:1 1:2>\n"}
    files["segmentation"] = "2 1\n1 1\n"
    paths = [tmp_path / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_text(content)
    bitext = Bitext.from_files(*paths)
    assert bitext.segmentations == ["2 1", "1 1"]
    paths[3].write_text("2 1\n3\n")
    with pytest.raises(ValueError, match="line 2: '3' are not the lengths of 2 target phrases"):
        Bitext.from_files(*paths)
    with pytest.raises(ValueError, match="need trees"):
        Bitext(["a"], ["x"], segmentations=["1"])
