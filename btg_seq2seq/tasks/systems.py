"""Systems that are compared on a task: each is a name and the settings that it changes.

All systems share the task's backbone, optimiser and number of steps. ``register_system`` adds
systems from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from btg_seq2seq.tasks.named import Named

PhrasePairs = Literal["trivial", "fast-align", "teacher"]
BASELINE = "seq2seq"  # what the others are compared with
PRETRAINED_BASELINE = "fast-align"  # and those that learn phrase pairs before sentences, too


@dataclass(frozen=True)
class System:
    """An entry of ``SYSTEMS``.

    Args:
        name: name on the command line and in results.
        title: name in tables.
        changes: fields of the training settings, with what they are set to.
        has_grammar: the system learns trees, so it can translate by cky.
        phrase_pairs: the model first learns these phrase pairs as if they were sentences.
        recombines_from: share of the steps after which sentences are recombined.
        paper: names of the paper's systems that correspond, by mode of translation.
    """

    name: str
    title: str
    changes: Mapping[str, Any]
    has_grammar: bool = True
    phrase_pairs: PhrasePairs | None = None
    recombines_from: float | None = None
    paper: Mapping[str, str] = field(default_factory=dict)


PLAIN = {"objective.flat_weight": 1.0, "objective.teacher": "none", "recombination.start": None}
_UNTAUGHT = {"objective.teacher": "none", "recombination.start": None}
_TAUGHT = {
    "objective.estimator": "robust",
    "objective.teacher": "lexical",
    "objective.flat_steps": 0,
}
_BTG = {"flat": "BTG-1", "cky": "BTG-N"}

SYSTEMS: Named[System] = Named("system")
register_system, find_system = SYSTEMS.register, SYSTEMS.find

for _system in (
    System(BASELINE, "seq2seq", PLAIN, has_grammar=False, paper={"flat": "seq2seq"}),
    System(
        "trivial-align",
        "+ Trivial-Align",
        PLAIN,
        has_grammar=False,
        phrase_pairs="trivial",
        paper={"flat": "trivial-align"},
    ),
    System(
        "fast-align",
        "+ Fast-Align",
        PLAIN,
        has_grammar=False,
        phrase_pairs="fast-align",
        paper={"flat": "fast-align"},
    ),
    System(
        "paper",
        "BTG, the paper's estimator",
        {
            **_UNTAUGHT,
            "objective.estimator": "paper",
            "objective.baseline": "self-critical",
            "objective.samples": 1,
            "model.phrase_encoding": "sentence",
            "model.residual_posterior": False,
        },
        paper=_BTG,
    ),
    System(
        "robust",
        "BTG, robust estimator",
        {**_UNTAUGHT, "objective.estimator": "robust"},
        paper=_BTG,
    ),
    System(
        "taught",
        "BTG, lexical teacher",
        {**_TAUGHT, "recombination.start": None},
        paper=_BTG,
    ),
    System(
        "taught-phrases",
        "BTG, lexical teacher, + its phrase pairs",
        {**_TAUGHT, "recombination.start": None},
        phrase_pairs="teacher",
        paper=_BTG,
    ),
    System(
        "recombined",
        "BTG, lexical teacher and recombination",
        _TAUGHT,
        recombines_from=0.5,
        paper=_BTG,
    ),
):
    register_system(_system)
