"""What rules ask of a sentence, in tokens: matches become spans that the chart must obey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from btg_seq2seq.decoding.constraints import ForcedSpan
from btg_seq2seq.decoding.rules import Match, Rule, RuleSet
from btg_seq2seq.decoding.source_text import SourceReader, SourceText
from btg_seq2seq.decoding.target_text import TargetWriter

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """A sentence and the spans of it whose translation is given.

    ``ForcedSpan.rule`` is the rank of a match; ``targets`` tells, for a match and the tokens that
    stand for one of its targets, how that target is written.
    """

    source: SourceText
    matches: list[Match] = field(default_factory=list)
    spans: list[ForcedSpan] = field(default_factory=list)
    targets: dict[tuple[int, Tokens], str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


class Assigner:
    """Finds rules in sentences; targets are tokenised once."""

    def __init__(self, reader: SourceReader, writer: TargetWriter, rules: RuleSet) -> None:
        self.reader, self.writer, self.rules = reader, writer, rules
        self._choices: dict[Rule, dict[Tokens, str]] = {}

    def assign(self, source: SourceText) -> Assignment:
        """Say what is to be done with a sentence, and what cannot be done."""
        if not source.tokens or not self.rules:
            return Assignment(source)
        matches, notices = self.rules.find(source.text)
        ends = [character for match in matches for character in (match.start, match.stop)]
        assignment = Assignment(self.reader.cut(source, ends), matches, notices=notices)
        for rank, match in enumerate(matches):
            self._add(assignment, rank, match)
        return assignment

    def _add(self, assignment: Assignment, rank: int, match: Match) -> None:
        rule = match.rule
        words = " ".join(assignment.source.text[match.start : match.stop].split())
        span = assignment.source.token_span(match.start, match.stop)
        if span is None:
            assignment.notices.append(
                f"rule {rule} is not obeyed: the tokenizer does not part {words!r} from the words "
                "around it"
            )
            return
        choices = {self.writer.encode(words): words} if rule.mode == "keep" else self._of(rule)
        choices = {tokens: text for tokens, text in choices.items() if tokens}
        if not choices:
            assignment.notices.append(
                f"rule {rule} is not obeyed: the tokenizer leaves nothing of its target"
            )
            return
        unknown = self.reader.tokenizer.unk_token_id
        assignment.notices.extend(
            f"rule {rule}: the model does not know {text!r}, which is copied as it stands"
            for tokens, text in choices.items()
            if unknown in tokens and rule.mode != "keep"
        )
        assignment.targets.update({(rank, tokens): text for tokens, text in choices.items()})
        mode: Literal["force", "prefer"] = "prefer" if rule.mode == "prefer" else "force"
        assignment.spans.append(ForcedSpan(*span, tuple(choices), rank, mode))

    def _of(self, rule: Rule) -> dict[Tokens, str]:
        """The targets of a rule by their tokens; of two with the same tokens, the first."""
        if rule not in self._choices:
            pairs = [(self.writer.encode(target), target) for target in rule.targets]
            self._choices[rule] = dict(reversed(pairs))
        return self._choices[rule]
