"""``btg serve`` in a process of its own, clients for it, and models with random weights."""

import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import torch

from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text import train_tokenizer

WORDS = 2000
SHARPNESS = 30.0  # of the random parser, whose trees are nearly uniform otherwise
ADDRESS = re.compile(r"http://[^ ]+")


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    address: str
    process: subprocess.Popen[str]

    @property
    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        return int(found.group(1)) * 1024 if found else 0

    def stop(self) -> int:
        """Ask it to finish, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


@contextmanager
def running(model: str, *options: str) -> Iterator[Server]:
    """Start a server on a free port of this computer, and stop it in the end."""
    command = [sys.executable, "-m", "btg_seq2seq.cli.main", "serve", model, "--port", "0"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    said = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            if found := ADDRESS.search(line):
                server = Server(found.group().rstrip("/"), process)
                break
        else:
            raise RuntimeError(f"the server did not start: {''.join(said)}")
        _wait(server)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _wait(server: Server) -> None:
    for _ in range(600):
        try:
            httpx.get(f"{server.address}/health").raise_for_status()
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


def write_random_model(directory: Path, hidden: int, layers: int) -> None:
    """Write a model of the usual kind with random weights; outputs are as long as their sources."""
    torch.manual_seed(0)
    words = " ".join(f"w{number}" for number in range(WORDS))
    tokenizer = train_tokenizer("word", [words])
    config = default_config(len(tokenizer), hidden_size=hidden, layers=layers, heads=4, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=4, max_phrase_length=8)
    with torch.no_grad():
        model.prior.output.mul_(SHARPNESS)
    model.decoding = DecodingSettings(max_output_ratio=1.0, max_output_extra=1)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def random_sentences(count: int, seed: int = 0, length: tuple[int, int] = (8, 30)) -> list[str]:
    """Sentences of random words, all different."""
    chance = random.Random(seed)
    return [
        " ".join(f"w{chance.randrange(WORDS)}" for _ in range(chance.randint(*length)))
        for _ in range(count)
    ]


@dataclass(frozen=True)
class Answer:
    """An answer of a server."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A client with a connection of its own, which stays open.

    It writes HTTP by hand: a general library takes more time per request than the server does.
    """

    def __init__(self, address: str) -> None:
        self.host = address.removeprefix("http://")

    async def __aenter__(self) -> "Client":
        name, _, port = self.host.rpartition(":")
        self.reader, self.writer = await asyncio.open_connection(name, int(port))
        return self

    async def __aexit__(self, *error: object) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def post(self, path: str, request: dict[str, Any]) -> Answer:
        body = json.dumps(request).encode()
        self.writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = re.search(r"^content-length: (\d+)\r$", head, re.MULTILINE)
        if length is None:
            raise RuntimeError(f"an answer without its length: {head}")
        return Answer(int(head.split()[1]), await self.reader.readexactly(int(length.group(1))))


async def ask_all(address: str, requests: Sequence[dict[str, Any]], clients: int) -> list[Answer]:
    """Send requests to ``/v1/translate`` from this many clients at a time; in order."""
    answers: list[Answer | None] = [None] * len(requests)
    waiting = iter(enumerate(requests))

    async def client() -> None:
        async with Client(address) as own:
            for number, request in waiting:
                answers[number] = await own.post("/v1/translate", request)

    await asyncio.gather(*(client() for _ in range(clients)))
    return [answer for answer in answers if answer is not None]
