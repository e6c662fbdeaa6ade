"""The demonstration's output: the task, a table of results, a derivation, a rule, and commands."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.table import Table

from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import exact_match
from btg_seq2seq.grammar import Leaf, Node
from btg_seq2seq.tasks.svo_sov import Item, SvoSovConfig
from btg_seq2seq.tasks.svo_sov_files import bitext_of
from btg_seq2seq.training.run import TrainResult
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translation import TextDerivation, Translation
from btg_seq2seq.translation.translator import Translator

Data = dict[str, list[Item]]  # train, dev and test


def introduce(console: Console, data: Data, task: SvoSovConfig) -> None:
    """Explain the task with a training pair."""
    example = shown_item(data["train"])
    (subject, _), (object_, _), (verb, _) = example.phrase_pairs
    _print(
        console,
        f"A toy translation task with {task.train_size} training pairs: English sentences, and a "
        "made-up language\nthat puts the verb last. Every phrase, of 1 to "
        f"{task.phrase_lengths[1]} words, has a translation of its own.\n\n"
        f"  {example.source}\n  {example.target}\n\n"
        f"The models are not told that {subject!r}, {verb!r} and {object_!r} are its phrases.\n"
        "The test sentences combine known phrases in ways that were never seen in training.\n",
    )


def report(console: Console, data: Data, base: TrainResult, btg: TrainResult) -> None:
    """Print the table of results, a derivation, and a sentence with and without a rule."""
    test = bitext_of(data["test"], "test")
    translator = Translator(btg.model, btg.tokenizer)
    whole = Translator(base.model, base.tokenizer).translate(test.source, mode="flat")
    flat = translator.translate(test.source, mode="flat")
    cky = translator.translate(test.source, mode="cky")
    trees = DevMetrics(0)(btg.model, btg.tokenizer, test)

    table = Table(title="Test sentences translated exactly")
    table.add_column("system")
    table.add_column("exact match", justify="right")
    rows = {"seq2seq": whole, "BTG-1: the same, taught by the grammar": flat}
    rows["BTG-N: the grammar combines phrases"] = cky
    for name, translations in rows.items():
        score = exact_match([translation.text for translation in translations], test.target)
        table.add_row(name, f"{score:.1f} %")
    console.print()
    console.print(table)
    _print(
        console,
        f"Right trees: {trees['posterior_trees']:.1f} % with the target in sight, "
        f"{trees['prior_trees']:.1f} % from the source alone. No tree was ever given.",
    )
    if btg.recombined is not None:
        _print(
            console,
            f"Recombined sentences: {btg.recombined['made']:,}; "
            f"{btg.recombined['coincidences']:,} of them happened to be held-out sentences and "
            "were discarded.",
        )
    shown = cky[data["test"].index(shown_item(data["test"]))]
    _print(console, "\nA test sentence and its derivation (BTG-N):\n")
    if shown.derivation is not None:
        _print(console, drawing(shown.derivation))
    _show_rule(console, translator, shown, rule_for(data))


def drawing(derivation: TextDerivation) -> str:
    """Phrases of the source above those of the target, numbered alike, and the tree."""
    in_source_order = sorted(derivation.phrases, key=lambda phrase: phrase.units)
    numbers = {phrase.units: str(rank) for rank, phrase in enumerate(in_source_order, 1)}
    above = [f"{numbers[phrase.units]} {phrase.source}" for phrase in in_source_order]
    below = [f"{numbers[phrase.units]} {phrase.target}" for phrase in derivation.phrases]
    widths = [max(map(len, both)) for both in zip(above, below, strict=True)]

    def show_leaf(leaf: Leaf) -> str:
        return numbers[leaf.start, leaf.stop]

    def show_node(node: Node, left: str, right: str) -> str:
        return f"<{left} {right}>" if node.inverted else f"[{left} {right}]"

    tree = derivation.tree.fold(show_leaf, show_node)
    lines = [
        f"  {name}   {'   '.join(map(str.ljust, cells, widths))}".rstrip()
        for name, cells in (("source", above), ("target", below))
    ]
    lines.append(f"  tree     {tree}   [...] keeps the order, <...> inverts it")
    return "\n".join(lines)


def shown_item(items: list[Item]) -> Item:
    """Choose an item to show: phrases of about three words, without characters to be quoted."""

    def oddity(item: Item) -> tuple[bool, int]:
        lengths = [len(phrase.split()) for phrase, _ in item.phrase_pairs]
        return "'" in item.source, sum(abs(length - 3) for length in lengths)

    return min(items, key=oddity)


def rule_for(data: Data) -> Rule:
    """Make a rule that gives the object of the shown test sentence another object's translation."""
    source, usual = shown_item(data["test"]).phrase_pairs[1]
    others = (item.phrase_pairs[1][1] for item in data["test"])
    return Rule(source, next(target for target in others if target != usual))


def _show_rule(console: Console, translator: Translator, before: Translation, rule: Rule) -> None:
    after = translator.translate([before.source], mode="cky", rules=[rule])[0]
    target = rule.target[0]
    is_obeyed = f" {target} " in f" {after.text} "
    _print(
        console,
        f"\nThe same sentence with a rule that forces {rule.source!r} to become {target!r}:\n\n"
        f"  without  {before.text}\n"
        f"  with     {after.text}\n\n"
        f"The rule was {'obeyed' if is_obeyed else 'not obeyed'}"
        f"{''.join(f'; {notice}' for notice in after.notices)}.",
    )


def suggest(console: Console, output: Path, rule: Rule) -> None:
    """Print commands to go on with; all work as printed."""
    model, test = str(output / "btg"), str(output / "test.source")
    files = [
        f"--data.{name}-{side} {shlex.quote(str(output / f'{name}.{side}'))}"
        for name in ("train", "dev")
        for side in ("source", "target")
    ]
    train = ["btg", "train", str(output / "btg" / "config.yaml"), "--output", str(output / "own")]
    commands = {
        "Open the workbench: translate, see derivations and add rules in the browser": shlex.join(
            ["btg", "serve", model]
        ),
        "Translate the test sentences": shlex.join(
            ["btg", "translate", model, test, "--mode", "cky"]
        ),
        "Translate them with a rule": shlex.join(
            ["btg", "translate", model, test, "--rule", f"{rule.source}={rule.target[0]}"]
        ),
        "Train on your own files, one sentence per line (those of the demo stand for them)": (
            " \\\n    ".join([shlex.join(train), *files])
        ),
    }
    _print(console, "\nTry next:")
    for purpose, command in commands.items():
        _print(console, f"\n  # {purpose}\n  {command}")


def _print(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
