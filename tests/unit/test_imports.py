"""Data flows one way: no package of btg_seq2seq imports one that comes after it."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = "btg_seq2seq"
SOURCE = Path(__file__).parents[2] / ROOT

# Each may import those above it, apart from what is named beside it.
ORDER: dict[str, set[str]] = {
    "errors": set(),
    "lazy": set(),
    "checks": set(),
    "plugins": set(),
    "opening": set(),
    "manifest": set(),
    "modes": set(),
    "options": set(),
    "grammar": {"checks", "plugins", "opening", "manifest", "modes", "options"},
    "text": set(),
    "model": set(),
    "derivations": set(),
    "recombination": set(),
    "training": set(),
    "decoding": {"recombination", "training"},
    "translation": {"recombination", "training"},
    "evaluation": set(),
    "tuning": set(),
    "drawing": {"recombination", "training", "decoding"},
    "reporting": {"recombination", "decoding"},
    "tasks": set(),
    "workbench": {"recombination", "training", "evaluation", "tasks"},
    "console": set(),
    "cli": set(),
}
BELOW = {name: {*list(ORDER)[:rank]} - barred for rank, (name, barred) in enumerate(ORDER.items())}

# Outside libraries, where they are restricted.
LIBRARIES = {"grammar": {"torch", "numpy", "numba", "llvmlite"} | sys.stdlib_module_names}


def package_of(path, source):
    """grammar for btg_seq2seq/grammar/tree.py; None for the package's own __init__."""
    first = path.relative_to(source).parts[0].removesuffix(".py")
    return None if first in ("__init__", "__main__") else first


def imported_modules(path, source):
    """(line, dotted name) of everything that a file imports, relative names resolved."""
    # grammar/tree.py and grammar/__init__.py are both in btg_seq2seq.grammar
    here = [ROOT, *path.relative_to(source).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            if module == ROOT:  # `from btg_seq2seq import grammar`: the name is the module
                yield from ((node.lineno, f"{ROOT}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


def violations(source):
    """One line for each import that the tables above do not allow."""
    for path in sorted(source.rglob("*.py")):
        package = package_of(path, source)
        if package is None:  # the public face may import anything
            continue
        where = path.relative_to(source.parent)
        if package not in BELOW:
            yield f"{where}: {package} has no place in the table of layers"
            continue
        for line, name in imported_modules(path, source):
            library, *rest = name.split(".")
            if library != ROOT:
                if package in LIBRARIES and library not in LIBRARIES[package]:
                    yield f"{where}:{line}: {package} may not use {library}"
            elif not rest:
                yield f"{where}:{line}: imports {ROOT} itself, which imports everything"
            elif rest[0] not in BELOW[package] | {package} and not rest[0].startswith("__"):
                yield f"{where}:{line}: {package} may not import {rest[0]}"


def test_no_import_goes_backwards():
    assert SOURCE.is_dir()
    assert list(violations(SOURCE)) == []


@pytest.mark.parametrize(
    ("path", "code", "allowed"),
    [
        ("grammar/tree.py", "import math, torch\nfrom .kernels import fast", True),
        ("grammar/kernels/fast.py", "from ..tree import Tree\nimport numba", True),
        ("grammar/kernels/fast.py", "from ...text import bitext", False),
        ("grammar/tree.py", "import transformers", False),
        ("grammar/tree.py", "def later():\n    from tokenizers import Tokenizer", False),
        ("grammar/__init__.py", "from btg_seq2seq.model import config", False),
        ("model/config.py", "import transformers\nfrom ..grammar import Tree", True),
        ("model/config.py", "from btg_seq2seq import Translator", False),
        ("model/config.py", "import btg_seq2seq", False),
        ("model/config.py", "from btg_seq2seq import __version__", True),
        ("training/trainer.py", "from btg_seq2seq import decoding", False),
        ("decoding/flat.py", "from ..training.trainer import Trainer", False),
        ("decoding/flat.py", "from ..translation import rules", False),
        ("decoding/flat.py", "from ..model import config", True),
        ("translation/x.py", "from ..decoding import flat\nfrom ..derivations import noise", True),
        ("recombination/collect.py", "from ..training import run", False),
        ("evaluation/bleu.py", "from ..decoding import cky\nfrom ..training import trainer", True),
        ("evaluation/bleu.py", "from ..cli import train", False),
        ("drawing/page.py", "from ..translation import translation", True),
        ("translation/x.py", "from ..drawing import drawing", False),
        ("cli/train.py", "from ..tasks import svo_sov", True),
        ("elsewhere/file.py", "", False),
        ("__init__.py", "from .cli import train", True),
    ],
)
def test_the_rule_itself(tmp_path, path, code, allowed):
    file = tmp_path / ROOT / path
    file.parent.mkdir(parents=True)
    file.write_text(code, encoding="utf-8")
    assert (list(violations(tmp_path / ROOT)) == []) == allowed
