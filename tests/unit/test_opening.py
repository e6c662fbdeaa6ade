"""Directories that somebody hands us: what would run code or leads elsewhere is refused."""

import ast
import json
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoTokenizer, T5Config

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import check_directory, open_pretrained, read_json, summary

SOURCE = Path(__file__).parents[2] / "btg_seq2seq"


def references(path):
    """(line, owner) of everything that names ``from_pretrained``, however it is called."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "from_pretrained":
            yield node.lineno, ast.unparse(node.value)
        elif isinstance(node, ast.Constant) and node.value == "from_pretrained":
            yield node.lineno, "getattr"


def test_nothing_else_opens_a_directory():
    """Ours lead here; only ``opening`` calls Hugging Face's."""
    ours = {"BTGSeq2Seq", "Translator"}
    found = {
        f"{path.relative_to(SOURCE)}:{line}: {owner}.from_pretrained"
        for path in SOURCE.rglob("*.py")
        for line, owner in references(path)
        if path.name != "opening.py" and owner not in ours
    }
    assert found == set()
    assert [owner for _, owner in references(SOURCE / "opening.py")] == ["loader"]


def test_no_file_is_unpickled_and_no_code_trusted():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import pickle" not in text, path
        assert "torch.load(" not in text, path
        assert "trust_remote_code=True" not in text, path


@pytest.fixture
def directory(tmp_path):
    T5Config().save_pretrained(tmp_path)
    return tmp_path


def add(path, **fields):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | fields))


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        ("config.json", {"auto_map": {"AutoConfig": "evil.Config"}}, "asks for code to be run"),
        ("config.json", {"backbone": {"auto_map": {}}}, "asks for code to be run"),
        ("tokenizer_config.json", {"auto_map": ["evil.T", None]}, "asks for code to be run"),
        ("processor_config.json", {"auto_map": {}}, "asks for code to be run"),
        ("config.json", {"custom_pipelines": {"x": {}}}, "asks for code to be run"),
        ("config.json", {"attn_implementation": "somebody/kernel"}, "choose eager or sdpa"),
        ("config.json", {"b": {"_attn_implementation": ["a/b"]}}, "not a name"),
        ("config.json", {"transformers_weights": "../w.safetensors"}, "points outside"),
        ("config.json", {"transformers_weights": "/w.safetensors"}, "points outside"),
        ("tokenizer_config.json", {"vocab_file": "/etc/passwd"}, "points outside"),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["..\\x.json"]}, "points outside"),
        ("model.safetensors.index.json", {"weight_map": {"w": "../../w"}}, "points outside"),
        ("model.safetensors.index.json", {"weight_map": {"w": "C:w"}}, "points outside"),
        ("model.safetensors.index.json", {"weight_map": {"w": 3}}, "points outside"),
        ("model.safetensors.index.json", {"weight_map": []}, "weight_map is not an object"),
        ("adapter_config.json", {"base_model_name_or_path": "x"}, "holds an adapter"),
        ("config.json", {"num_layers": 10**9}, "more than any model has"),
        ("config.json", {"vocab_size": 10**12}, "more than any model has"),
    ],
)
def test_what_runs_code_or_leads_elsewhere_is_refused(directory, file, fields, message):
    add(directory / file, **fields)
    for loader in (AutoConfig, AutoTokenizer):
        with pytest.raises(UserError, match=message) as refused:
            open_pretrained(loader, directory, "it")
        assert str(directory) in str(refused.value)
        assert "\n" not in str(refused.value)


def test_what_real_models_have_is_accepted(directory):
    add(
        directory / "tokenizer_config.json",
        special_tokens_map_file="/home/somebody/.cache/special_tokens_map.json",
        tokenizer_file=None,
        name_or_path="/home/somebody/model",
        model_max_length=10**30,
        vocab_file="spiece.model",
    )
    add(directory / "model.safetensors.index.json", metadata={"total_size": 10**12})
    add(directory / "manifest.json", files={"model.safetensors": {"bytes": 10**11}})
    add(directory / "model.safetensors.index.json", weight_map={"w": "model-1-of-2.safetensors"})
    add(directory / "config.json", _name_or_path="/somewhere/else", attn_implementation="sdpa")
    check_directory(directory)
    assert open_pretrained(AutoConfig, directory, "it").d_model == 512


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "holds a list"),
        (b"3", "holds a int"),
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_no_object(tmp_path, content, message):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as refused:
        read_json(path)
    assert str(path) in str(refused.value)


def test_json_that_is_no_file(tmp_path):
    with pytest.raises(UserError, match="there is no such file"):
        read_json(tmp_path / "nothing.json")
    with pytest.raises(UserError, match="it is not a file"):
        read_json(tmp_path)


def test_a_path_is_no_name_on_the_hub(tmp_path):
    with pytest.raises(UserError, match="no such directory"):
        open_pretrained(AutoConfig, tmp_path / "nowhere", "a model")


def test_what_libraries_say_is_one_line():
    assert summary(KeyError("x")) == "KeyError: 'x'"
    assert summary(ValueError("\n first\nsecond")) == "ValueError: first"
    assert summary(OSError("gone")) == "gone"
    assert summary(RuntimeError()) == "RuntimeError: "
