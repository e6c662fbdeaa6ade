"""Rules on real text: phrases of the references as rules, obeyed or not, and what they cost.

    python -m benchmarks.rules MODEL SOURCE REFERENCE [--with TRAIN.SRC TRAIN.TGT] [--rules 2]

For every held-out sentence, ``biparse`` finds phrase pairs of the sentence and its reference; the
rarest become rules of that sentence alone. The sentences are translated by cky with and without
them. ``--with`` adds training text, from which better phrase pairs are found; the model learns from
nothing here. Exit code 1 if a forced rule was not obeyed.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import harness
from btg_seq2seq import biparse
from btg_seq2seq.derivations.lexical import LexicalSettings
from btg_seq2seq.evaluation.metrics import MetricOptions, text_scores
from btg_seq2seq.text import Bitext
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.rules.rules import Rule, RuleMode
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

HEADER = ["translation", "rules obeyed", "BLEU", "chrF", "seconds", "x without rules"]
SATISFACTION_BAR = 100.0
LONGEST = 4  # words of a rule
PHRASES = 6  # that a sentence is cut into


@dataclass(frozen=True)
class RuledSentence:
    """A held-out sentence with the rules that are taken from its reference."""

    source: str
    reference: str
    phrases: list[tuple[str, str]]


def reference_phrases(
    held_out: Bitext, more: Bitext | None, per_sentence: int, longest: int = LONGEST
) -> list[RuledSentence]:
    """Find phrase pairs of sentences and references; the rarest, without overlaps, become rules.

    A phrase that occurs twice in its source is left out, since one target would be forced upon
    both, and so is one of punctuation alone.
    """
    sources, targets = list(held_out.source), list(held_out.target)
    if more is not None:
        sources, targets = [*sources, *more.source], [*targets, *more.target]
    settings = LexicalSettings(max_segments=PHRASES, draws=0)
    parsed = biparse(sources, targets, settings, segments=PHRASES)
    counts = Counter(word for text in sources for word in _words(text))
    found = []
    for row, (source, reference) in enumerate(zip(held_out.source, held_out.target, strict=True)):
        derivation = parsed[row].derivation
        pairs = (
            [] if derivation is None else [(one.source, one.target) for one in derivation.phrases]
        )
        chosen = [pair for pair in pairs if _is_usable(pair, source, longest)]
        chosen.sort(key=lambda pair: min(counts[word] for word in _words(pair[0])))
        found.append(RuledSentence(source, reference, chosen[:per_sentence]))
    return found


def _words(text: str) -> list[str]:
    return [text[word.start : word.stop] for word in words_of(text)]


def _is_usable(pair: tuple[str, str], sentence: str, longest: int) -> bool:
    source, target = (_words(side) for side in pair)
    whole = _words(sentence)
    places = [
        start
        for start in range(len(whole) - len(source) + 1)
        if whole[start : start + len(source)] == source
    ]
    has_letters = any(any(character.isalnum() for character in word) for word in source)
    is_short = 0 < len(source) <= longest and 0 < len(target) <= 2 * longest
    return is_short and has_letters and len(places) == 1 and len(source) < len(whole)


def translate(
    translator: Translator, sentences: Sequence[RuledSentence], mode: RuleMode | None
) -> list[Translation]:
    """Translate by cky, each sentence with its own rules."""
    found = []
    for one in sentences:
        rules = [Rule(*pair, mode=mode) for pair in one.phrases] if mode is not None else []
        found += translator.translate([one.source], "cky", rules)
    return found


def obeyed(sentences: Sequence[RuledSentence], translations: Sequence[Translation]) -> float:
    """Compute the share of rules whose target is in the translation, in percent."""
    verdicts = [
        _squeezed(target) in _squeezed(translation.text)
        for one, translation in zip(sentences, translations, strict=True)
        for _, target in one.phrases
    ]
    return 100 * sum(verdicts) / len(verdicts) if verdicts else 100.0


def _squeezed(text: str) -> str:
    return f" {' '.join(_words(text))} "


def parse_arguments() -> argparse.Namespace:
    parser = harness.arguments("rules", __doc__)
    parser.add_argument("model", help="a trained model")
    parser.add_argument("source", type=Path, help="held-out sentences")
    parser.add_argument("reference", type=Path, help="their references")
    parser.add_argument(
        "--with", dest="more", nargs=2, type=Path, metavar=("SOURCE", "TARGET"), help="more text"
    )
    parser.add_argument("--rules", type=int, default=1, help="most rules per sentence")
    parser.add_argument("--sentences", type=int, default=200, help="first sentences that are used")
    parser.add_argument("--tokenize", help="sacreBLEU's tokenizer, for BLEU")
    return parser.parse_args()


def main() -> int:
    """Run, print, write; 1 if a forced rule was not obeyed."""
    options = parse_arguments()
    harness.begin(options, "rules")
    bitext = Bitext.from_files(options.source, options.reference)
    held_out = Bitext(
        bitext.source[: options.sentences], bitext.target[: options.sentences], name=bitext.name
    )
    more = None if options.more is None else Bitext.from_files(*options.more)
    sentences = [one for one in reference_phrases(held_out, more, options.rules) if one.phrases]
    if not sentences:
        print("no phrase pairs were found that could be rules", file=sys.stderr)
        return 2
    translator = Translator.from_pretrained(options.model)
    translate(translator, sentences[:1], "force")  # compiles what has to be compiled
    rows, seconds, shares = [], {}, {}
    references = [one.reference for one in sentences]
    modes: dict[str, RuleMode | None] = {
        "without rules": None,
        "force": "force",
        "prefer": "prefer",
    }
    for name, mode in modes.items():
        found, timing = harness.timed(partial(translate, translator, sentences, mode))
        seconds[name] = timing.processor_seconds
        shares[name] = obeyed(sentences, found)
        texts = [one.text for one in found]
        scores = text_scores(texts, references, MetricOptions(options.tokenize))
        rows.append(
            [
                name,
                f"{shares[name]:.1f} %",
                *(f"{scores[metric].value:.2f}" for metric in ("bleu", "chrf")),
                f"{seconds[name]:.1f}",
                f"{seconds[name] / seconds['without rules']:.2f}",
            ]
        )
    count = sum(len(one.phrases) for one in sentences)
    note = (
        f"{count} rules, taken from the references of {len(sentences)} of {len(held_out)} held-out "
        f"sentences, at most {options.rules} each; cky, one sentence at a time, processor time."
    )
    bars = [harness.Bar("forced rules obeyed", shares["force"], SATISFACTION_BAR, " %")]
    return harness.Report("rules", note, HEADER, rows, bars).write(
        options, rules=count, obeyed=shares, seconds=seconds
    )


if __name__ == "__main__":
    sys.exit(main())
