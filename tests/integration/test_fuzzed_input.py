"""Input that somebody has made up: JSON lines, rule files, settings, command lines.

Whatever is in them, a command succeeds, or it fails with one line and a status that says so. No
exception gets through, and good lines before a bad one are written.
"""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from btg_seq2seq.cli.main import main

ANY_FIXTURE = settings(suppress_health_check=list(HealthCheck))

texts = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
field_names = st.sampled_from(
    ["source", "text", "variants", "derivation", "mode", "log_prob", "notices", "other"]
)
objects = st.dictionaries(field_names, json_values, max_size=5)
token_lists = st.lists(st.lists(st.integers(-2, 400), max_size=4), max_size=3)
nearly_right = st.fixed_dictionaries(
    {"source": st.sampled_from(["the dog", "", " ", "das Haus ist klein"]) | texts},
    optional={"text": texts | st.just("the dog"), "variants": token_lists | json_values},
)
json_lines = st.lists(
    st.binary(max_size=30)
    | (objects | nearly_right).map(lambda value: json.dumps(value).encode())
    | (objects | nearly_right).map(
        lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ),
    max_size=4,
).map(b"\n".join)

cells = texts | st.sampled_from(["the dog", "dog", "force", "prefer", "keep", "insensitive", "|||"])
rule_lines = st.lists(
    st.binary(max_size=30)
    | st.lists(cells, max_size=6).flatmap(
        lambda row: st.sampled_from(["\t", ",", " ||| "]).map(
            lambda mark: mark.join(row).encode("utf-8", "surrogatepass")
        )
    ),
    max_size=4,
).map(b"\n".join)

scalars = st.one_of(
    *(st.just(value) for value in ("", "null", "true", "-1", "0", "1e400", ".nan", "[", "{", "&a")),
    *(st.just(value) for value in ("*a", "!!python/object:os.system", "4", "four", "{0: 1.0}")),
    texts,
)
keys = st.sampled_from(
    ["model", "model.layers", "data", "objective", "optimisation", "output", "seed", "threads"]
)
yaml_lines = st.lists(
    st.tuples(st.sampled_from(["", "  ", "- "]), keys | texts, scalars).map(
        lambda parts: "{}{}: {}".format(*parts)
    ),
    max_size=6,
).map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass")) | st.binary(max_size=60)


def outcome(capfd: pytest.CaptureFixture[str], *command: str) -> int:
    """The status of a command that has kept to the rules."""
    capfd.readouterr()
    try:
        status = main(list(command))
    except SystemExit as stopped:
        status = int(str(stopped.code))
    said = capfd.readouterr().err
    failures = [line for line in said.splitlines() if line.startswith(f"btg {command[0]}: ")]
    assert "Traceback" not in said
    assert status in (0, 1, 2)
    if status:
        assert failures, said
    return status


@ANY_FIXTURE
@given(content=json_lines, command=st.sampled_from(["translate", "score"]))
def test_json_lines(
    model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, command: str
) -> None:
    path = tmp_path / "input.jsonl"
    path.write_bytes(content)
    options = ["--beam-size", "1", "--max-output-extra", "1", "--max-output-ratio", "1"]
    outcome(capfd, command, model, str(path), "--format", "jsonl", *options)


@ANY_FIXTURE
@given(content=rule_lines, ending=st.sampled_from([".tsv", ".csv", ".csv.gz", ""]))
def test_rule_files(
    model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes, ending: str
) -> None:
    rules, source = tmp_path / f"rules{ending}", tmp_path / "source"
    rules.write_bytes(content)
    source.write_text("the dog saw the dog\n")
    options = ["--beam-size", "1", "--max-output-extra", "1", "--max-output-ratio", "1"]
    outcome(capfd, "translate", model, str(source), "--rules", str(rules), *options)


@ANY_FIXTURE
@given(content=yaml_lines)
def test_settings(tmp_path: Path, capfd: pytest.CaptureFixture[str], content: bytes) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    missing = str(tmp_path / "nowhere")
    data = ["--data.train-source", missing, "--data.train-target", missing]
    status = outcome(capfd, "train", str(path), "--output", str(tmp_path / "run"), *data)
    assert status in (1, 2)  # there is nothing to train on
    assert not (tmp_path / "run").exists()


@ANY_FIXTURE
@given(
    arguments=st.lists(
        texts
        | st.sampled_from(
            ["--mode", "cky", "--beam-size", "0", "--nbest", "--rule", "a=b", "--", "-", "--rules"]
        ),
        max_size=6,
    ),
    command=st.sampled_from(["translate", "score", "align", "evaluate", "phrase-table", "augment"]),
)
def test_command_lines(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    arguments: list[str],
    command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = "no such model"
    printable = [argument for argument in arguments if "\0" not in argument]
    if {"-h", "--help"} & {*printable}:
        return
    assert outcome(capfd, command, nowhere, *printable) in (1, 2)
