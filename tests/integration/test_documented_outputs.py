"""Console examples of the documentation: what they look like, and what they print.

BTG_TEST_GERMAN names the model of ``btg train examples/german/train.yaml``; without it, the
examples that need it are not run.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from btg_seq2seq.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
MODEL = os.environ.get("BTG_TEST_GERMAN")
NUMBER = re.compile(r"[-\u2212]?\d+\.\d+")  # differs a little between machines
ALTERNATIVE = re.compile(r"^\d+ \|\|\| .*\n", re.MULTILINE)


def load_outputs():
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs/outputs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["outputs"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


outputs = load_outputs()
PAGES = {page.relative_to(ROOT).as_posix(): page for page in outputs.pages()}


def examples_of(page):
    blocks = outputs.BLOCK.findall(page.read_text(encoding="utf-8"))
    return [example for block in blocks for example in outputs.examples(block)]


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "Text.\n\n```console\n$ cat words.txt\none\ntwo\n$ wc -l < words.txt\n7\n```\n\n"
        "```console\n$ paste -s -d '|' \\\n      words.txt\n```\n\n```sh\n$ not an example\n```\n"
    )
    return path


def test_outputs_are_renewed_and_nothing_else(page, tmp_path):
    old = page.read_text()
    new = outputs.rewrite(old, outputs.run_page(page, tmp_path))
    renewed = old.replace("\n7\n", "\n2\n").replace(" words.txt\n```", " words.txt\none|two\n```")
    assert new == renewed


def test_a_command_that_fails_is_an_error(page, tmp_path):
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(outputs.subprocess.CalledProcessError):
        list(outputs.run_page(page, tmp_path))
    with pytest.raises(ValueError, match="output without a command"):
        outputs.examples("lost\n")


@pytest.mark.parametrize("name", PAGES)
def test_every_example_is_a_command(name):
    examples = examples_of(PAGES[name])
    assert examples
    for command in re.findall(r"btg ([a-z-]+)", "".join(one.command for one in examples)):
        assert command in COMMANDS
    text = PAGES[name].read_text(encoding="utf-8")
    assert outputs.rewrite(text, iter([(one, one.output) for one in examples])) == text


@pytest.mark.skipif(not MODEL, reason="BTG_TEST_GERMAN names no model")
@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_those_of_the_model(name):
    def comparable(output):
        return ALTERNATIVE.sub("", NUMBER.sub("#", output).rstrip("\n") + "\n")

    for example, output in outputs.run_page(PAGES[name], Path(MODEL)):
        assert comparable(output) == comparable(example.output), example.command
