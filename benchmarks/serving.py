"""The cost of the server: against ``btg translate``, of another rule, and beside a slow request.

    python -m benchmarks.serving [--hidden 256] [--layers 3] [--sentences 320] [--output FILE.json]
    python -m benchmarks.serving --model DIRECTORY --source FILE

One run. The server is a process of its own with as many threads as this one, which translates the
same sentences offline as ``btg translate`` does, and is also all of its clients. Exit code 1 if a
bar is missed.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import torch

from benchmarks import harness
from benchmarks.running_server import ask_all, random_sentences, running, write_random_model
from btg_seq2seq.text import read_lines
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.translator import Translator

HEADER = ["", "seconds", "compared with", "ratio"]
CHUNK = 256  # lines that btg translate translates at a time
PARAGRAPH = 4  # sentences of a request, shown beside single ones


def translate_offline(translator: Translator, texts: Sequence[str], mode: Any) -> list[str]:
    found = []
    for first in range(0, len(texts), CHUNK):
        found += translator.translate(texts[first : first + CHUNK], mode)
    return [translation.text for translation in found]


def measure_throughput(
    address: str,
    translator: Translator,
    texts: Sequence[str],
    mode: str,
    clients: int,
    per_request: int,
) -> tuple[float, float]:
    """Seconds for all sentences: offline, and in requests from this many clients."""
    expected, offline = harness.timed(lambda: translate_offline(translator, texts, mode))
    starts = range(0, len(texts), per_request)
    requests = [{"texts": texts[first : first + per_request], "mode": mode} for first in starts]
    answers, online = harness.timed(lambda: asyncio.run(ask_all(address, requests, clients)))
    found = [one["text"] for answer in answers for one in answer.json()["translations"]]
    if found != expected:
        raise RuntimeError("the server does not translate as btg translate does")
    return offline.seconds, online.seconds


def measure_rules(address: str, texts: Sequence[str]) -> tuple[float, float]:
    """Median seconds of a sentence's first translation, and of the next one with a rule."""
    first, again = [], []
    with httpx.Client(base_url=address, timeout=600) as client:
        ask = partial(client.post, "/v1/translate")
        for text in texts:
            request: dict[str, Any] = {"texts": [text], "mode": "cky", "explain": True}
            first.append(harness.timed(partial(ask, json=request))[1])
            words = words_of(text)
            middle = words[len(words) // 2]
            rule = {"source": text[middle.start : middle.stop], "target": "w1"}
            request = {**request, "rules": [rule]}
            answer, taken = harness.timed(partial(ask, json=request))
            again.append(taken)
            if rule["target"] not in answer.json()["translations"][0]["text"]:
                raise RuntimeError("the rule was not obeyed")
    return tuple(  # type: ignore[return-value]
        statistics.median(one.seconds for one in timings) for timings in (first, again)
    )


async def measure_latency(
    address: str, texts: Sequence[str], slow: Sequence[str]
) -> tuple[float, float]:
    """Median seconds of a flat request without, and beside, a long request for cky."""

    async def median(client: httpx.AsyncClient) -> float:
        taken = []
        for text in texts:
            begin = time.perf_counter()
            await client.post("/v1/translate", json={"texts": [text], "mode": "flat"})
            taken.append(time.perf_counter() - begin)
        return statistics.median(taken)

    async with httpx.AsyncClient(base_url=address, timeout=600) as client:
        alone = await median(client)
        request = {"texts": list(slow), "mode": "cky"}
        running_request = asyncio.create_task(client.post("/v1/translate", json=request))
        await asyncio.sleep(0.5)
        beside = await median(client)
        if running_request.done():
            raise RuntimeError("the request for cky was not long enough")
        await running_request
    return alone, beside


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("serving", __doc__)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=320)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--model", help="directory of a trained model")
    parser.add_argument("--source", help="sentences for it")
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a bar fails."""
    options = parse_arguments()
    harness.begin(options, "serving")
    with tempfile.TemporaryDirectory() as place:
        directory = options.model or place
        if options.model is None:
            write_random_model(Path(place), options.hidden, options.layers)
        count = options.sentences
        texts = list(read_lines(options.source)) if options.source else random_sentences(3 * count)
        texts = list(dict.fromkeys(text for text in texts if text.strip()))[: 3 * count]
        # The server keeps what it has prepared for cky, so no sentence is measured twice.
        third = len(texts) // 3
        single, grouped, others = texts[:third], texts[third : 2 * third], texts[2 * third :]
        translator = Translator.from_pretrained(directory)
        translator.translate(others[:8], "cky")  # compile
        threads = ["--threads", str(torch.get_num_threads())]
        glossaries = ["--glossaries", f"{place}/glossaries.sqlite", "--limits.deadline", "600"]
        with running(f"m={directory}", *threads, *glossaries) as server:
            address = server.address
            asyncio.run(ask_all(address, [{"texts": [text]} for text in others[:64]], 32))
            rows, rates = [], {}
            for mode, size in (("flat", PARAGRAPH), ("cky", PARAGRAPH), ("flat", 1), ("cky", 1)):
                measured = single if size == 1 else grouped
                offline, online = measure_throughput(
                    address, translator, measured, mode, options.clients, size
                )
                rates[mode] = offline / online  # of single sentences, which come last
                name = f"{mode}, {options.clients} clients, {size} per request"
                rows.append([name, f"{online:.2f}", f"btg translate {offline:.2f}", ""])
                rows[-1][-1] = f"{rates[mode]:.2f}"
            first, again = measure_rules(address, others[:20])
            rows.append(["another rule", f"{again:.3f}", f"first translation {first:.3f}", ""])
            rows[-1][-1] = f"{again / first:.2f}"
            slow = (others[20:] * 10)[: server_limit(address)]
            alone, beside = asyncio.run(measure_latency(address, others[:25], slow))
            rows.append(["flat beside cky", f"{beside:.3f}", f"flat alone {alone:.3f}", ""])
            rows[-1][-1] = f"{beside / alone:.2f}"
    bars = [
        *(
            harness.Bar(f"throughput of {mode}, of btg translate's", rate, 0.8, "x")
            for mode, rate in rates.items()
        ),
        harness.Bar("another rule, of the first translation", again / first, 0.5, "x", False),
        harness.Bar("a flat request beside a long cky request", beside / alone, 2, "x", False),
    ]
    model = "random weights" if options.model is None else Path(options.model).name
    note = (
        f"{third} sentences, {model}; the bars of throughput are for requests of one "
        "sentence; another rule and flat requests: medians of single requests. The clients run on "
        "the same machine and write HTTP by hand, since a general library needs more time per "
        "request than the server."
    )
    report = harness.Report("serving", note, HEADER, rows, bars)
    return report.write(options, rates=rates)


def server_limit(address: str) -> int:
    """Most sentences of a request."""
    return int(httpx.get(f"{address}/v1/models").json()["limits"]["sentences"])


if __name__ == "__main__":
    sys.exit(main())
