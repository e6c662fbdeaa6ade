"""Decoding settings that were tuned on a dev set, saved beside a model: one set for each mode.

Nothing here needs torch: commands check their options before they load it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import TUNED_FILE
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.opening import read_json

TUNED_MODES: tuple[Literal["flat", "cky", "rescored"], ...] = ("flat", "cky", "rescored")
NAMES = frozenset(field.name for field in fields(DecodingSettings))


@dataclass(frozen=True)
class TunedSettings:
    """Settings by mode that replace the defaults saved beside a model.

    ``modes`` has, for each tuned mode, the fields of ``DecodingSettings`` that were chosen.
    ``reports`` says how: the metric, the dev score before and after, and so on.
    """

    modes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for mode, values in self.modes.items():
            if mode not in TUNED_MODES:
                raise UserError(f"there is no mode {mode!r}: {', '.join(TUNED_MODES)}")
            if not isinstance(values, Mapping):
                raise UserError(f"the settings of {mode} must be an object {{...}}")
            unknown = sorted({*values} - NAMES)
            if unknown:
                raise UserError(f"there is no decoding setting {unknown[0]}")
            self.apply(DecodingSettings(), mode)

    def apply(self, settings: DecodingSettings, mode: str) -> DecodingSettings:
        """Return settings with what was tuned for a mode."""
        return replace(settings, **self.modes.get(mode, {}))

    def with_mode(
        self, mode: str, values: Mapping[str, Any], report: Mapping[str, Any]
    ) -> TunedSettings:
        """Return the same settings with those of one mode replaced."""
        return TunedSettings({**self.modes, mode: values}, {**self.reports, mode: report})

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> TunedSettings:
        """Read the settings beside a model; empty if it was never tuned."""
        path = Path(directory) / TUNED_FILE
        if not path.exists():
            return cls()
        content = read_json(path)
        modes, reports = content.get("modes"), content.get("reports", {})
        if not isinstance(modes, dict) or not isinstance(reports, dict):
            raise UserError(f"{path}: 'modes' and 'reports' must be objects {{...}}")
        try:
            return cls(modes, reports)
        except UserError as error:
            raise UserError(f"{path}: {error}") from error

    def save(self, directory: str | PathLike[str]) -> None:
        """Write the settings into a directory."""
        (Path(directory) / TUNED_FILE).write_text(self.to_text(), encoding="utf-8")

    def to_text(self) -> str:
        """Write as JSON."""
        content = {
            "modes": {mode: _plain(values) for mode, values in self.modes.items()},
            "reports": self.reports,
        }
        return json.dumps(content, indent=2) + "\n"


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.to_json() if isinstance(value, RankingWeights) else value
        for name, value in values.items()
    }
