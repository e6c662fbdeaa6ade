"""Run the console examples of README.md and docs/, and write what they print into the pages.

``make outputs``, or ``python docs/outputs.py [--check] [PAGE ...]``. The model ``runs/german`` must
be there: ``btg train examples/german/train.yaml``.

An example is a block of the language ``console``. Its commands begin with ``$``; what follows up to
the next command is the output. All examples of a page run one after the other in an empty directory
with links to ``examples`` and ``runs``. ``cat FILE`` writes the file first, with what the page
shows, if there is none. A server runs until the end of its page, and is started for ``curl`` too.
"""

from __future__ import annotations

import argparse
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNELS = "Compiling the grammar's kernels"  # a notice on a busy machine
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
ADDRESS = "http://127.0.0.1:8000/"  # of the server, on the pages
SERVE = "btg serve runs/german --languages de-en"


@dataclass(frozen=True)
class Example:
    """A command with the output that a page shows."""

    command: str  # may have several lines, which end in a backslash or inside of quotes
    output: str


def pages() -> list[Path]:
    """List the pages with console examples."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if BLOCK.search(page.read_text(encoding="utf-8"))]


def examples(block: str) -> list[Example]:
    """Cut a block into commands with their outputs."""
    found: list[Example] = []
    lines = block.splitlines(keepends=True)
    while lines:
        command = lines.pop(0)
        if not command.startswith("$ "):
            raise ValueError(f"output without a command: {command}")
        while lines and (command.endswith("\\\n") or command.count("'") % 2):
            command += lines.pop(0)
        output = ""
        while lines and not lines[0].startswith("$ "):
            output += lines.pop(0)
        found.append(Example(command[2:], output))
    return found


class Shell:
    """An empty directory in which the examples of a page run, with a server where one is needed."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self.servers = ExitStack()
        (folder / "examples").symlink_to(ROOT / "examples")
        (folder / "runs").mkdir()
        (folder / "runs/german").symlink_to(model.resolve())
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {"PATH": path, "COLUMNS": "100", "XDG_DATA_HOME": str(folder / "data")}
        self.environment = {**os.environ, **own}

    def output_of(self, example: Example) -> str:
        """Run a command; what it prints, errors included, as the page would show it."""
        words = example.command.split()
        if words[0] == "cat" and not (self.folder / words[1]).exists():
            (self.folder / words[1]).write_text(example.output, encoding="utf-8")
        if words[:2] == ["btg", "train"]:
            return example.output  # the model that was trained is there
        if words[:2] == ["btg", "serve"]:
            return self._serve(example.command)
        if words[0] == "curl" and not self.address:
            self._serve(SERVE)
        done = subprocess.run(
            ["bash", "-c", example.command.replace(ADDRESS, self.address)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=True,
        )
        lines = done.stdout.replace(self.address or ADDRESS, ADDRESS).splitlines()
        return "".join(f"{line}\n" for line in lines if not line.startswith(KERNELS))

    def _serve(self, command: str) -> str:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}/"
        line = self.servers.enter_context(
            serving(f"{command.strip()} --port {port}", self.folder, self.environment)
        )
        return line.replace(self.address, ADDRESS)


@contextmanager
def serving(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a server; yields what it prints when it is ready."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield _until_ready(process)
        finally:
            process.terminate()


def _until_ready(process: subprocess.Popen[str], patience: float = 300) -> str:
    assert process.stdout
    printed, begin = "", time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while "http://" not in printed:
            left = patience - (time.monotonic() - begin)
            line = process.stdout.readline() if selector.select(max(0, left)) else ""
            if not line:
                raise RuntimeError(f"the server did not start: {printed}")
            printed += line
    return printed


def run_page(page: Path, model: Path) -> Iterator[tuple[Example, str]]:
    """Run the examples of a page; each with what it prints now."""
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(model, Path(folder))
        with shell.servers:
            for block in BLOCK.findall(page.read_text(encoding="utf-8")):
                for example in examples(block):
                    yield example, shell.output_of(example)


def rewrite(text: str, outputs: Iterator[tuple[Example, str]]) -> str:
    """Put outputs in place of those that a page shows."""

    def block(match: re.Match[str]) -> str:
        renewed = (next(outputs) for _ in examples(match.group()))
        lines = "".join(f"$ {example.command}{output}" for example, output in renewed)
        return lines.rstrip("\n") + "\n"

    return BLOCK.sub(block, text)


def main() -> int:
    """Renew pages, or with --check only say which ones would change."""
    parser = argparse.ArgumentParser(description="Renew the outputs in the documentation.")
    parser.add_argument("pages", nargs="*", type=Path, help="pages; all unless given")
    parser.add_argument("--model", type=Path, default=ROOT / "runs/german")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    changed = []
    for page in options.pages or pages():
        old = page.read_text(encoding="utf-8")
        new = rewrite(old, run_page(page, options.model))
        if new != old:
            changed.append(page)
            if not options.check:
                page.write_text(new, encoding="utf-8")
        print(f"{page}: {'changed' if new != old else 'as it was'}", flush=True)
    return 1 if changed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
