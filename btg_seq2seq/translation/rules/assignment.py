"""What rules ask of a sentence, in tokens: matches become spans that the chart must obey."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.phrase_translator import Tokens
from btg_seq2seq.translation.rules.rules import Match, RuleSet
from btg_seq2seq.translation.source_text import SourceReader, SourceText
from btg_seq2seq.translation.target_text import Part, TargetWriter

BEYOND = 1 << 40  # no vocabulary has so many tokens


@dataclass(frozen=True)
class RuleTarget:
    """A target of a rule as it is written, and the tokens that the model knows it by."""

    text: str
    tokens: Tokens


@dataclass(frozen=True)
class Assignment:
    """A sentence and the spans of it whose translation is given.

    ``RuleSpan.rule`` is the rank of a match; ``targets`` tells, for a match and a string that
    the chart has for it, which of its targets that is.
    """

    source: SourceText
    matches: list[Match] = field(default_factory=list)
    spans: list[RuleSpan] = field(default_factory=list)
    targets: dict[tuple[int, Tokens], RuleTarget] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def read(self, rule: int | None, string: Tokens) -> Part:
        """Tokens of a string of the chart, and its text if a rule has given it."""
        if rule is None:
            return string, None
        target = self.targets[rule, string]
        return target.tokens, target.text


class Assigner:
    """Finds rules in sentences; targets are tokenised once.

    ``longest``: most tokens of a sentence, those that frame it not counted; nothing for any.
    """

    def __init__(
        self,
        reader: SourceReader,
        writer: TargetWriter,
        rules: RuleSet,
        longest: int | None = None,
    ) -> None:
        self.reader, self.writer, self.rules, self.longest = reader, writer, rules, longest
        self._strings: dict[str, tuple[Tokens, RuleTarget]] = {}

    def assign(self, source: SourceText) -> Assignment:
        """Say what is to be done with a sentence, and what cannot be done."""
        if not source.tokens or not self.rules:
            return Assignment(source)
        matches, notices = self.rules.find(source.text)
        ends = [
            character
            for match in matches
            if match.rule.mode != "prefer"
            for character in (match.start, match.stop)
        ]
        cut = self.reader.cut(source, ends)
        is_too_long = self.longest is not None and len(cut.tokens) > self.longest
        assignment = Assignment(source if is_too_long else cut, matches, notices=notices)
        for rank, match in enumerate(matches):
            could_be_cut = is_too_long and cut.token_span(match.start, match.stop) is not None
            self._add(assignment, rank, match, could_be_cut)
        return assignment

    def _add(self, assignment: Assignment, rank: int, match: Match, could_be_cut: bool) -> None:
        rule = match.rule
        fails = "does not compete" if rule.mode == "prefer" else "is not obeyed"
        words = " ".join(assignment.source.text[match.start : match.stop].split())
        span = assignment.source.token_span(match.start, match.stop)
        if span is None:
            reason = f"the tokenizer does not part {words!r} from the words around it"
            if could_be_cut:
                reason = (
                    f"with {words!r} cut out of its tokens, the sentence is longer than the "
                    f"{self.longest} tokens that the model reads"
                )
            assignment.notices.append(f"rule {rule} {fails}: {reason}")
            return
        texts = (words,) if rule.mode == "keep" else rule.targets
        choices = dict(self._string(text) for text in texts)
        choices = {string: target for string, target in choices.items() if target.tokens}
        if not choices:
            assignment.notices.append(
                f"rule {rule} {fails}: the tokenizer leaves nothing of its target"
            )
            return
        unknown = self.reader.tokenizer.unk_token_id
        assignment.notices.extend(
            f"rule {rule}: the model does not know {target.text!r}, which is copied if chosen"
            for target in choices.values()
            if unknown in target.tokens and rule.mode != "keep"
        )
        assignment.targets.update({(rank, string): own for string, own in choices.items()})
        mode: Literal["force", "prefer"] = "prefer" if rule.mode == "prefer" else "force"
        spelled = tuple(target.tokens for target in choices.values())
        assignment.spans.append(RuleSpan(*span, tuple(choices), rank, mode, spelled))

    def _string(self, text: str) -> tuple[Tokens, RuleTarget]:
        """The string that a target is in the chart: its tokens, if these spell it.

        Where they do not, as with words that the model does not know, other texts may have the
        same tokens; so the string is a token of its own that is in no vocabulary.
        """
        if text not in self._strings:
            target = RuleTarget(text, self.writer.encode(text))
            is_spelled = self.writer.write([(target.tokens, None)])[0] == text
            own = target.tokens if is_spelled else (BEYOND + len(self._strings),)
            self._strings[text] = own, target
        return self._strings[text]
