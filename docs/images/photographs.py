"""Photograph the workbench and a training report: ``make photographs``.

``python docs/images/photographs.py`` writes ``workbench.png`` and ``report.png``, which change with
the model of ``examples/german``. Runs that are not there are trained first, which takes minutes.
Chromium is needed; Playwright comes with ``pip install -e '.[dev]'``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks.running_server import running  # noqa: E402  of this repository

HERE = Path(__file__).parent
COLOURS = 128  # of a picture in a file
STATE = {
    "texts": ["die Stadt hat das Haus am See verkauft"],
    "rules": [{"source": "die Stadt hat", "target": ["the town has"], "case": "follow"}],
}
SELECTED = range(3, 7)  # das Haus am See
CONFIG = "examples/german/train.yaml"
OFTEN = {
    "log-every": "20",
    "eval-every": "50",
    "translate-dev": "40",
    "translate-dev-modes": "[flat, cky]",
}
COMPARED = {"taught": "lexical", "untaught": "none"}  # names of runs, and their teachers


def photograph_workbench(browser: Browser) -> None:
    """Take a picture with a rule, and with words selected for the next one."""
    train("runs/german")
    with ExitStack() as stack:
        glossaries = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "glossaries.sqlite"
        options = ["--languages", "de-en", "--glossaries", str(glossaries)]
        server = stack.enter_context(running("runs/german", *options))
        page = browser.new_page(viewport={"width": 1000, "height": 1100})
        page.goto(f"{server.address}/#{quote(json.dumps(STATE))}")
        page.locator(".picture svg").wait_for()
        words = page.locator(".word")
        for rank in SELECTED:
            words.nth(rank).click()
        page.keyboard.type("lake house")
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        save(page.screenshot(full_page=True), HERE / "workbench.png")


def photograph_report(browser: Browser) -> None:
    """Take a picture of the top of a report about runs with and without a teacher."""
    runs = {name: f"runs/compared/{name}" for name in COMPARED}
    often = [part for name, value in OFTEN.items() for part in (f"--optimisation.{name}", value)]
    for name, teacher in COMPARED.items():
        train(runs[name], "--objective.teacher", teacher, *often)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        btg("report", *runs.values(), "--output", str(report))
        page = browser.new_page(viewport={"width": 1180, "height": 1100})
        page.goto(report.as_uri())
        save(page.screenshot(), HERE / "report.png")


def train(output: str, *options: str) -> None:
    """Train the German example, unless that has been done."""
    if not (ROOT / output / "model.safetensors").exists():
        btg("train", CONFIG, "--output", output, *options)


def btg(*arguments: str) -> None:
    """Run a command in the root of the repository."""
    command = [sys.executable, "-m", "btg_seq2seq.cli.main", *arguments]
    subprocess.run(command, cwd=ROOT, check=True)


def save(photograph: bytes, path: Path) -> None:
    """Write a picture with few colours, in a fraction of the bytes."""
    path.write_bytes(photograph)
    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)


def main() -> None:
    """Take all photographs, or those that are named: workbench, report."""
    os.chdir(ROOT)
    chosen = sys.argv[1:] or ["workbench", "report"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        if "workbench" in chosen:
            photograph_workbench(browser)
        if "report" in chosen:
            photograph_report(browser)
        browser.close()


if __name__ == "__main__":
    main()
