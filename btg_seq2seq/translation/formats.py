"""Output formats of ``btg translate``, ``score``, ``align``, ``biparse`` and ``phrase-table``.

A format turns a result into lines of text. Each has one entry in the registry: its name, the kind
of result it is for, and the lines it writes. ``register_format`` adds a format; the command that
prints such results then offers it as a choice of ``--format`` and describes it in its help:

    register_format(OutputFormat("upper", TranslatedLine, "text in capital letters",
                                 lambda line: [line.translation.text.upper()]))

Commands read the registry to print their help, so nothing heavy is imported here.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from btg_seq2seq.translation.translation import Translation

if TYPE_CHECKING:
    from btg_seq2seq.translation.scoring import Score

Result = TypeVar("Result")

REPORTED = "reported_log_prob"


@dataclass(frozen=True)
class TranslatedLine:
    """A line of input and its translation; ``fields`` are those of a JSON line."""

    number: int
    translation: Translation
    nbest: int = 1
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoredLine:
    """A line of input with the scores of the translation given for it.

    ``reported`` is the log-probability that cky translation reports, if it was asked for.
    """

    number: int
    score: Score
    reported: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def log_probs(self) -> dict[str, float]:
        """All log-probabilities by name."""
        values = {
            "flat_log_prob": self.score.flat_log_prob,
            "cky_log_prob": self.score.cky_log_prob,
        }
        return values if self.reported is None else values | {REPORTED: self.reported}


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair with its derivation.

    ``links`` gives word alignments, if they are known better than by phrases.
    """

    number: int
    pair: Translation
    links: Callable[[], str] | None = None


@dataclass(frozen=True)
class PhraseTableEntry:
    """A phrase pair with its scores and counts; ``phi`` are relative frequencies in the table."""

    source: str
    target: str
    phi_source: float  # phi(source | target)
    phi_target: float  # phi(target | source)
    probability: float  # p(target | source) of the phrase translator
    target_count: float
    source_count: float
    count: float


@dataclass(frozen=True)
class OutputFormat:
    """One choice of ``--format``.

    Args:
        name: the choice.
        result: the kind of result it writes.
        description: what it writes, for the help of the command.
        lines: returns the lines of text for a result.
        fields: names of the JSON fields that it writes, beside all fields of a JSON line of input;
            none for formats that are not JSON. A line of input with such a field is refused.
    """

    name: str
    result: type
    description: str
    lines: Callable[[Any], Iterable[str]]
    fields: frozenset[str] = frozenset()


_formats: defaultdict[type, dict[str, OutputFormat]] = defaultdict(dict)


def register_format(output_format: OutputFormat) -> None:
    """Add a format; the first one for a kind of result is the default of its command."""
    known = _formats[output_format.result]
    if output_format.name in known:
        raise ValueError(
            f"there is already a format {output_format.name!r} for {output_format.result.__name__}"
        )
    known[output_format.name] = output_format


def formats_for(result: type) -> dict[str, OutputFormat]:
    """Return the formats for a kind of result by name, the default first."""
    return dict(_formats[result])


def to_json_line(values: Mapping[str, Any]) -> str:
    """Write one line of JSON; non-ASCII characters are escaped only if they are not valid text."""
    line = json.dumps(values, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(values)
    return line


def _text(line: TranslatedLine) -> Iterable[str]:
    return [line.translation.text] if line.nbest == 1 else _nbest(line)


def _nbest(line: TranslatedLine) -> Iterable[str]:
    for one in (line.translation, *line.translation.alternatives):
        yield f"{line.number} ||| {one.text} ||| {one.log_prob:.6f}"


def _scores(line: ScoredLine) -> Iterable[str]:
    yield "\t".join(f"{value:.6f}" for value in line.log_probs.values())


def _scores_as_json(line: ScoredLine) -> Iterable[str]:
    derivation = line.score.derivation
    finite = {
        name: value if math.isfinite(value) else None for name, value in line.log_probs.items()
    }
    values = {**line.fields, **finite, "derivation": derivation and derivation.to_json()}
    yield to_json_line(values)


def _phrases(aligned: AlignedPair) -> Iterable[str]:
    derivation = aligned.pair.derivation
    phrases = () if derivation is None else derivation.phrases
    yield " | ".join(f"{phrase.source} -> {phrase.target}" for phrase in phrases)


def _moses(entry: PhraseTableEntry) -> Iterable[str]:
    scores = f"{entry.phi_source:.6g} {entry.phi_target:.6g} {entry.probability:.6g}"
    counts = f"{entry.target_count:.6g} {entry.source_count:.6g} {entry.count:.6g}"
    # Between scores and counts Moses has the word alignment, which is not known.
    yield f"{entry.source} ||| {entry.target} ||| {scores} ||| ||| {counts}"


for _format in (
    OutputFormat(
        "text",
        TranslatedLine,
        "the translation; with --nbest above 1, number of the line, from 1 ||| translation ||| "
        "log-probability",
        _text,
    ),
    OutputFormat(
        "jsonl",
        TranslatedLine,
        "JSON lines with the origin of every word",
        lambda line: [to_json_line({**line.fields, **line.translation.to_json()})],
        frozenset(own.name for own in fields(Translation)) - {"source"},
    ),
    OutputFormat(
        "pharaoh",
        TranslatedLine,
        "word alignment of the best translation, such as 0-0 1-2",
        lambda line: [line.translation.to_pharaoh()],
    ),
    OutputFormat("text", ScoredLine, "the numbers, separated by tabs", _scores),
    OutputFormat(
        "jsonl",
        ScoredLine,
        "also the most probable derivation, and all fields of the input",
        _scores_as_json,
        frozenset(["flat_log_prob", "cky_log_prob", REPORTED, "derivation"]),
    ),
    OutputFormat(
        "pharaoh",
        AlignedPair,
        "word alignments",
        lambda aligned: [aligned.links() if aligned.links else aligned.pair.to_pharaoh()],
    ),
    OutputFormat(
        "json",
        AlignedPair,
        "JSON lines with tree and phrases",
        lambda aligned: [to_json_line(aligned.pair.to_json())],
    ),
    OutputFormat(
        "phrases",
        AlignedPair,
        "phrase pairs for people, in target order: source -> target | source -> target",
        _phrases,
    ),
    OutputFormat(
        "moses",
        PhraseTableEntry,
        "source ||| target ||| scores ||| ||| counts, which btg translate --rules reads",
        _moses,
    ),
    OutputFormat(
        "jsonl",
        PhraseTableEntry,
        "JSON lines with the same numbers by name",
        lambda entry: [to_json_line(asdict(entry))],
    ),
):
    register_format(_format)
