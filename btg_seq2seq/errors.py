"""``UserError``: what a user can mend.

The commands print it as one line and a server answers with a 4xx status. Any other exception is a
bug and keeps its traceback.
"""

from __future__ import annotations


class UserError(ValueError):
    """Wrong input, settings or files; the message says what, where, and what to do about it."""


class UsageError(UserError):
    """A command line, or a file of settings, that cannot be understood."""


class SentenceError(UserError):
    """Something wrong with one sentence, given by its rank in the call."""

    def __init__(self, sentence: int, reason: str) -> None:
        super().__init__(f"sentence {sentence}: {reason}")
        self.sentence, self.reason = sentence, reason
