"""A server under load: every answer must be right, and its memory must not grow.

    python -m benchmarks.load [--seconds 60] [--clients 32] [--model DIRECTORY --source FILE]

Clients ask for flat and cky translations, with and without rules, in requests of one to four
sentences. Answers are compared with those of the translator in this process. The only error allowed
is 429, after which a client waits as long as the server says. Exit code 1 if anything is wrong.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from benchmarks.running_server import Server, random_sentences, running, write_random_model
from btg_seq2seq.text import read_lines
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translator import Translator

GROWTH = 0.1  # of the memory, from the second third of the time to its end
MEGABYTE = 2**20


@dataclass(frozen=True)
class Case:
    """A sentence with a mode and rules, and its translation."""

    text: str
    mode: str
    rules: tuple[tuple[str, str], ...]
    expected: str


@dataclass
class Outcome:
    """Answers that clients have got, and the memory of the server."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)  # seconds, bytes

    @property
    def growth(self) -> float:
        """Growth of the memory in the last two thirds of the time."""
        end = self.memory[-1][0]
        middle = max(size for seconds, size in self.memory if seconds <= end * 2 / 3)
        last = max(size for seconds, size in self.memory if seconds > end * 2 / 3)
        return last / middle - 1

    @property
    def problems(self) -> list[str]:
        """All that is not as it should be."""
        errors = [
            f"{count} answers with status {status}"
            for status, count in self.statuses.items()
            if status not in (200, 429)
        ]
        if not self.statuses[200]:
            errors.append("no answer at all")
        if self.growth > GROWTH:
            errors.append(f"memory has grown by {100 * self.growth:.0f} %")
        return [*errors, *self.wrong[:5]]


def cases_for(translator: Translator, texts: Sequence[str]) -> list[Case]:
    """Translate sentences offline: flat, cky, and with two different rules each."""
    cases = []
    modes: tuple[Literal["flat", "cky"], ...] = ("flat", "cky")
    for mode in modes:
        found = translator.translate(texts, mode)
        cases += [Case(one.source, mode, (), one.text) for one in found]
    for place in (0, -1):
        for text in texts:
            word = words_of(text)[place]
            rule = (text[word.start : word.stop], "w1")
            (one,) = translator.translate([text], "cky", [Rule(*rule)])
            cases.append(Case(text, "cky", (rule,), one.text))
    return cases


async def put_under_load(
    server: Server, cases: Sequence[Case], clients: int, seconds: float
) -> Outcome:
    """Let clients ask until the time is over."""
    outcome, begin = Outcome(), time.monotonic()
    groups: dict[Any, list[Case]] = {}
    for case in cases:
        groups.setdefault((case.mode, case.rules), []).append(case)
    choices = list(groups.values())

    async def client(number: int) -> None:
        chance = random.Random(number)
        async with httpx.AsyncClient(base_url=server.address, timeout=600) as own:
            while time.monotonic() - begin < seconds:
                group = chance.choice(choices)
                asked = chance.sample(group, min(len(group), chance.randint(1, 4)))
                answer = await own.post("/v1/translate", json=_request(asked))
                outcome.statuses[answer.status_code] += 1
                if answer.status_code == 429:
                    await asyncio.sleep(float(answer.headers["retry-after"]))
                elif answer.status_code == 200:
                    found = [one["text"] for one in answer.json()["translations"]]
                    expected = [case.expected for case in asked]
                    if found != expected:
                        outcome.wrong.append(f"{found} is not {expected}")

    async def watch() -> None:
        while True:
            outcome.memory.append((time.monotonic() - begin, server.memory))
            await asyncio.sleep(seconds / 100)

    watching = asyncio.create_task(watch())
    await asyncio.gather(*(client(number) for number in range(clients)))
    watching.cancel()
    outcome.memory.append((time.monotonic() - begin, server.memory))
    return outcome


def _request(cases: Sequence[Case]) -> dict[str, Any]:
    rules = [{"source": source, "target": target} for source, target in cases[0].rules]
    return {"texts": [case.text for case in cases], "mode": cases[0].mode, "rules": rules}


def main() -> int:
    """Run and print; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--model", help="directory of a trained model")
    parser.add_argument("--source", help="sentences for it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        directory = options.model or place
        if options.model is None:
            write_random_model(Path(place), hidden=64, layers=1)
        texts = list(read_lines(options.source)) if options.source else random_sentences(10**4)
        texts = [text for text in dict.fromkeys(texts) if text.strip()][: options.sentences]
        cases = cases_for(Translator.from_pretrained(directory), texts)
        limits = ["--glossaries", f"{place}/glossaries.sqlite", "--limits.cache-megabytes", "8"]
        with running(f"m={directory}", *limits) as server:
            outcome = asyncio.run(put_under_load(server, cases, options.clients, options.seconds))
    sizes = [size / MEGABYTE for _, size in outcome.memory]
    print(f"answers by status: {dict(outcome.statuses)}")
    print(f"memory: {sizes[0]:.0f} MB at first, {max(sizes):.0f} at most, {sizes[-1]:.0f} at last")
    print(*(outcome.problems or ["all answers are right"]), sep="\n")
    return 1 if outcome.problems else 0


if __name__ == "__main__":
    sys.exit(main())
