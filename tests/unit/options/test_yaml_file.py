"""Files of settings: what is read, and what is refused with its line."""

import pytest

from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.yaml_file import YamlFile

KNOWN = [
    "output",
    "seed",
    "model.layers",
    "model.flat_weight",
    "rates.learning_rate",
    "rates.weight",
]
BOMB = "seed: [&a [1, 1], &b [*a, *a], &c [*b, *b], &d [*c, *c], [*d, *d]]\n"


def read(tmp_path, content):
    path = tmp_path / "c.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return YamlFile(path, KNOWN)


def test_values_and_their_lines(tmp_path):
    file = read(
        tmp_path,
        "output: a\nmodel: {layers: 3}\nrates:\n  learning_rate: 1e-4\n  weight: {0: 1.0, 5: 2}\n",
    )
    assert file.values == {
        "output": "a",
        "model": {"layers": 3},
        "rates": {"learning_rate": 1e-4, "weight": {0: 1.0, 5: 2}},
    }
    assert file.place("rates.weight") == f"{tmp_path / 'c.yaml'}: line 5"
    assert read(tmp_path, "").values == {}
    assert read(tmp_path, "model:\n#  layers: 3\nmodel.layers: 4\n").values == {
        "model": {"layers": 4}
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("modle: {layers: 3}\n", "line 1: there is no field modle; did you mean model?"),
        (
            "seed: 1\nmodel:\n  layer: 3\n",
            "line 3: there is no field model.layer; did you mean model.layers?",
        ),
        (
            "model: {learning_rate: 3}\n",
            "line 1: there is no field model.learning_rate; did you mean rates.learning_rate?",
        ),
        ("seed: 1\nseed: 2\n", "line 2: seed is set again; it was set in line 1"),
        (
            "model:\n  layers: 3\n\n  layers: 4\n",
            "line 4: model.layers is set again; it was set in line 2",
        ),
        ("model: {layers: 3}\nmodel: {}\n", "line 2: model is set again; it was set in line 1"),
        ("rates: {weight: {0: 1, 0: 2}}\n", "line 1: rates.weight has 0 twice"),
        (
            "rates: {weight: {0:1.0}}\n",
            "line 1: rates.weight: '0:1.0' needs a space after the colon, as in {0: 1.0, 500: 0.5}",
        ),
        (
            "model: small\n",
            "line 1: model is a section with fields such as model.layers, and cannot be 'small'",
        ),
        ("3\n", "holds no settings: a line has a key and a value, 'seed: 1'"),
        ("seed: 1\n  output: a\n", "line 2: the YAML cannot be read: mapping values are not"),
        ("seed: !!python/name:os.system\n", "line 1: the YAML cannot be read: could not"),
        ("seed: 1\n---\nseed: 2\n", "line 2: the YAML cannot be read: but found another document"),
        ("[" * 100_000, "the YAML cannot be read: brackets are nested too deeply"),
        ("seed: " + "[" * 100_000, "the YAML cannot be read: brackets are nested too deeply"),
        (BOMB, "line 1: seed: brackets are nested too deeply"),
        ("seed: &a [*a]\n", "line 1: seed: brackets are nested too deeply"),
        (b"seed: 1\noutput: \xff\n", "line 2: this is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, content, message):
    with pytest.raises(UsageError) as error:
        read(tmp_path, content)
    assert str(error.value).startswith(f"{tmp_path / 'c.yaml'}: {message}")
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match=r"c\.yaml: there is no such file"):
        YamlFile(tmp_path / "c.yaml", KNOWN)
    with pytest.raises(UsageError, match="the file cannot be read: Is a directory"):
        YamlFile(tmp_path, KNOWN)
