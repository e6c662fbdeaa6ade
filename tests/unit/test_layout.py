"""The tree stays readable: short files, small directories, and a unit test beside every module."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE, UNIT = ROOT / "btg_seq2seq", ROOT / "tests" / "unit"

MOST_LINES = 400
MOST_MODULES = 12  # in a directory; cli/ has one file per command

# Modules without a unit test of their own, and why. A directory stands for all that is in it.
TESTED_ELSEWHERE = {
    "cli": "commands run as a user types them, in tests/integration",
    "console": "what commands share, in tests/integration",
    "grammar/kernels": "compiled and portable programs, through the CRFs that call them",
    "derivations/lexical/kernels": "compiled programs, through the bitext chart",
    "decoding/chart/kernels": "compiled programs, through the charts that call them",
    "errors.py": "two exception classes",
    "lazy.py": "every import of a public name",
    "checks.py": "ranges and choices, through the settings that use them",
    "model/decoding_settings.py": "a dataclass, through the decoders and commands that take it",
    "recombination/settings.py": "a dataclass, in training/settings/test_config.py",
    "workbench/metrics.py": "counters, in workbench/api/test_own.py",
    "workbench/api/answers.py": "a description of answers, in workbench/api/test_own.py",
    "training/files/names.py": "three names, through the files that have them",
    "training/settings/objective.py": "a dataclass, in training/settings/test_config.py",
    "training/settings/optimisation.py": "a dataclass, in training/settings/test_config.py",
}

# Unit tests that mirror no module: tools of the tests, and rules about the tree itself.
NO_MODULE = {"test_english.py", "test_imports.py", "test_layout.py", "test_oracle.py"}

# Modules that have no unit test yet: other tests reach them, but none is named after them. This set
# may only shrink. A new module comes with its test, and one that gets a test leaves this set.
NOT_YET = {
    "grammar/split_crf.py",
}


def python_files(*directories):
    return sorted(path for name in directories for path in (ROOT / name).rglob("*.py"))


def modules():
    """Every module of the package but the packages' own files, relative to the package."""
    paths = (path.relative_to(PACKAGE) for path in python_files("btg_seq2seq"))
    return [path for path in paths if path.name not in ("__init__.py", "__main__.py")]


def mirrored(test):
    """The module that a unit test is for: the longest name that its own begins with.

    ``grammar/test_tree_crf_batches.py`` is for ``grammar/tree_crf.py``. A test that is named after
    its directory, such as ``grammar/kernels/test_kernels.py``, is for the package itself.
    """
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) + ".py" for count in range(len(words), 0, -1)]
    if test.stem == f"test_{test.parent.name}":
        names.append("__init__.py")
    candidates = (test.with_name(name) for name in names)
    return next((one for one in candidates if (PACKAGE / one).exists()), None)


def unit_tests():
    return [path.relative_to(UNIT) for path in sorted(UNIT.rglob("test_*.py"))]


def is_tested_elsewhere(module):
    return any(part.as_posix() in TESTED_ELSEWHERE for part in (module, *module.parents))


def test_no_file_is_too_long_to_read():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files("btg_seq2seq", "tests", "benchmarks")
    }
    assert {name for name, lines in lengths.items() if lines > MOST_LINES} == set()


def test_no_directory_has_too_many_modules():
    counts = {}
    for module in modules():
        counts[module.parent.as_posix()] = counts.get(module.parent.as_posix(), 0) + 1
    del counts["cli"]
    assert {name for name, count in counts.items() if count > MOST_MODULES} == set()


@pytest.mark.parametrize(
    "path", python_files("btg_seq2seq"), ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_every_module_says_what_it_is_for(path):
    """A docstring whose first paragraph is one sentence that fits on one line."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring
    first, *rest = docstring.splitlines()
    assert len(first) > 15
    assert first.endswith(".")
    assert not rest or rest[0] == ""


def test_every_unit_test_mirrors_a_module():
    without = {test.as_posix() for test in unit_tests() if mirrored(test) is None}
    assert without == NO_MODULE


def test_every_module_has_a_unit_test():
    tested = {mirrored(test) for test in unit_tests()}
    without = {
        module.as_posix()
        for module in modules()
        if module not in tested and not is_tested_elsewhere(module)
    }
    assert without - NOT_YET == set(), "give these a test"
    assert NOT_YET - without == set(), "these have a test, or are gone: remove them from NOT_YET"


def test_the_exceptions_exist():
    assert [name for name in TESTED_ELSEWHERE if not (PACKAGE / name).exists()] == []


def test_contributing_describes_every_package():
    """One line for each package, and for each module that is in none."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = text.partition("btg_seq2seq/\n")[2].partition("tests/\n")[0]
    described = re.findall(r"^ +([\w.]+)/? +\S", layout, re.MULTILINE)
    packages = {path.parent.name for path in PACKAGE.rglob("__init__.py")}
    alone = {path.name for path in PACKAGE.glob("*.py")}
    expected = (packages | alone) - {PACKAGE.name, "__init__.py", "kernels"}
    assert (set(described) - expected, expected - set(described)) == (set(), set())
