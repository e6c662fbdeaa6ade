"""Photograph the workbench for docs/workbench.md.

``btg serve runs/german --languages de-en`` must be running; Playwright and chromium are needed:
``python docs/images/workbench.py``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

STATE = {
    "texts": ["die Stadt hat das Haus am See verkauft"],
    "rules": [{"source": "die Stadt hat", "target": ["the town has"], "case": "follow"}],
}


def main(address: str = "http://127.0.0.1:8000/") -> None:
    """Take the picture with a rule, and with words selected for the next one."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1000, "height": 1100})
        page.goto(f"{address}#{quote(json.dumps(STATE))}")
        page.locator(".picture svg").wait_for()
        words = page.locator(".word")
        for rank in range(3, 7):
            words.nth(rank).click()
        page.keyboard.type("lake house")
        page.screenshot(path=Path(__file__).with_suffix(".png"), full_page=True)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
