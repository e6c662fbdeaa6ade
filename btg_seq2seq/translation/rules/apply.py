"""Rules applied to a text: matches become spans of units whose translations are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.phrase_translator import Tokens
from btg_seq2seq.translation.rules.rules import Match, RuleSet
from btg_seq2seq.translation.target_text import TargetPart, TargetWriter
from btg_seq2seq.translation.tokenized_text import TextReader, TokenizedText

BEYOND = 1 << 40  # larger than any token id


@dataclass(frozen=True)
class RuleTarget:
    """A target of a rule as it is written, and its tokens."""

    text: str
    tokens: Tokens


@dataclass(frozen=True)
class RuledText:
    """A text, the rules that match in it, and the spans whose translations they give.

    ``RuleSpan.rule`` is the rank of a match. ``targets`` has the target that a string of the chart
    stands for, by the rank of the match and the string.
    """

    source: TokenizedText
    matches: list[Match] = field(default_factory=list)
    spans: list[RuleSpan] = field(default_factory=list)
    targets: dict[tuple[int, Tokens], RuleTarget] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def read(self, rule: int | None, string: Tokens) -> TargetPart:
        """Return the tokens of a string of the chart, and its text if a rule gave it."""
        if rule is None:
            return string, None
        target = self.targets[rule, string]
        return target.tokens, target.text


class RuleApplier:
    """Applies a set of rules to texts; targets are tokenized once.

    ``longest`` is the most tokens that a text may have, without its frame; ``None`` for no limit.
    """

    def __init__(
        self,
        reader: TextReader,
        writer: TargetWriter,
        rules: RuleSet,
        longest: int | None = None,
    ) -> None:
        self.reader, self.writer, self.rules, self.longest = reader, writer, rules, longest
        self._strings: dict[str, tuple[Tokens, RuleTarget]] = {}

    def apply(self, source: TokenizedText) -> RuledText:
        """Find the rules in a text; those that cannot be obeyed become notices."""
        if not source.tokens or not self.rules:
            return RuledText(source)
        matches, notices = self.rules.find(source.text)
        preferred, others = (
            [
                character
                for match in matches
                if (match.rule.mode == "prefer") == is_preferred
                for character in (match.start, match.stop)
            ]
            for is_preferred in (True, False)
        )
        cut = self.reader.cut(source, others, between_tokens=preferred)
        is_too_long = self.longest is not None and len(cut.tokens) > self.longest
        ruled = RuledText(source if is_too_long else cut, matches, notices=notices)
        for rank, match in enumerate(matches):
            could_be_cut = is_too_long and cut.unit_span(match.start, match.stop) is not None
            self._add(ruled, rank, match, could_be_cut)
        return ruled

    def _add(self, ruled: RuledText, rank: int, match: Match, could_be_cut: bool) -> None:
        rule = match.rule
        fails = "does not compete" if rule.mode == "prefer" else "is not obeyed"
        words = " ".join(ruled.source.text[match.start : match.stop].split())
        span = ruled.source.unit_span(match.start, match.stop)
        if span is None:
            reason = f"the tokenizer does not part {words!r} from the words around it"
            if could_be_cut:
                reason = (
                    f"with {words!r} cut out of its tokens, the sentence is longer than the "
                    f"{self.longest} tokens that the model reads"
                )
            ruled.notices.append(f"rule {rule} {fails}: {reason}")
            return
        choices = dict(self._string(text) for text in rule.targets_for(words))
        choices = {string: target for string, target in choices.items() if target.tokens}
        if not choices:
            ruled.notices.append(f"rule {rule} {fails}: the tokenizer leaves nothing of its target")
            return
        unknown = self.reader.tokenizer.unk_token_id
        ruled.notices.extend(
            f"rule {rule}: the model does not know {target.text!r}, which is copied if chosen"
            for target in choices.values()
            if unknown in target.tokens and rule.mode != "keep"
        )
        ruled.targets.update({(rank, string): own for string, own in choices.items()})
        mode: Literal["force", "prefer"] = "prefer" if rule.mode == "prefer" else "force"
        spelled = tuple(target.tokens for target in choices.values())
        ruled.spans.append(RuleSpan(*span, tuple(choices), rank, mode, spelled))

    def _string(self, text: str) -> tuple[Tokens, RuleTarget]:
        """Return the string for a target in the chart: its tokens, if they spell it.

        If they do not, as with unknown words, other texts may have the same tokens. The string is
        then a new token that is in no vocabulary.
        """
        if text not in self._strings:
            target = RuleTarget(text, self.writer.encode(text))
            is_spelled = self.writer.write([(target.tokens, None)])[0] == text
            own = target.tokens if is_spelled else (BEYOND + len(self._strings),)
            self._strings[text] = own, target
        return self._strings[text]
