"""Keys of clients: who may use the server, and whose glossaries are whose."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from fastapi import Request

from btg_seq2seq.errors import UserError
from btg_seq2seq.workbench.problems import Problem

SHORTEST = 8
SCHEMES = ("bearer", "deepl-auth-key")


class Keys:
    """The keys that are accepted; without any, the server is open to everybody.

    Every comparison takes the same time, so that nobody can guess a key letter by letter.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self._digests = [_digest(key) for key in keys]

    @classmethod
    def read(cls, path: str) -> Keys:
        """Read a file with one key per line; empty lines and those that start with # are skipped.

        It is an error if a key is short, or the file has none.
        """
        keys = []
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise UserError(f"{path} is not UTF-8") from error
        for number, line in enumerate(lines, 1):
            key = line.strip()
            if not key or key.startswith("#"):
                continue
            if len(key) < SHORTEST:
                raise UserError(f"{path}:{number}: a key has at least {SHORTEST} characters")
            keys.append(key)
        if not keys:
            raise UserError(f"{path} has no keys; write one per line")
        return cls(keys)

    def __bool__(self) -> bool:
        return bool(self._digests)

    def check(self, key: str | None) -> str:
        """Return the name under which a client's glossaries are kept; 403 for a wrong key."""
        digest = _digest(key or "")
        found = False
        for known in self._digests:  # all of them, whether or not one was found
            found |= hmac.compare_digest(digest, known)
        if self._digests and not found:
            raise Problem(403, "a key is needed" if not key else "the key is wrong")
        return digest.hex() if key else ""


def key_in_header(request: Request) -> str | None:
    """Return the key in the headers: ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``.

    DeepL's clients write ``Authorization: DeepL-Auth-Key KEY``.
    """
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES and key.strip():
        return key.strip()
    return request.headers.get("x-api-key")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
