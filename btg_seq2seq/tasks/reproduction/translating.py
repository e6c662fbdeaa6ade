"""Translations of whole sets in files: a set that was interrupted goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import read_lines, write_lines
from btg_seq2seq.translation.translator import TranslationMode, Translator

SLICE = 200  # sentences between savings


def translated(
    translator: Translator,
    sources: list[str],
    mode: TranslationMode,
    path: Path,
    say: Callable[[str], None] = lambda line: None,
    save: Callable[[], None] = lambda: None,
) -> list[str]:
    """Translate sources with the tuned settings of a mode into a file; return its lines.

    ``save`` is called after every slice that was written.
    """
    partial = path.with_name(f"{path.name}.partial")
    if path.exists():
        lines = read_lines(path)
        if len(lines) != len(sources):
            raise UserError(f"{path} has {len(lines)} lines, not {len(sources)}: remove it")
        return lines
    lines = read_lines(partial) if partial.exists() else []
    if len(lines) > len(sources):
        raise UserError(f"{partial} has {len(lines)} lines, more than {len(sources)}: remove it")
    while len(lines) < len(sources):
        part = sources[len(lines) : len(lines) + SLICE]
        found = translator.translate(part, mode)
        lines += [" ".join(one.text.split("\n")).replace("\r", " ") for one in found]
        write_lines(partial, lines)
        save()
        say(f"{path.stem}: {len(lines)}/{len(sources)}")
    write_lines(path, lines)
    partial.unlink(missing_ok=True)
    return lines
