"""Models named on the command line, and the languages between which they translate.

A model is given as ``[NAME=]DIRECTORY[:SOURCE-TARGET]``, such as ``news=runs/news:de-en``. A model
does not know its languages. Without them it is served under its name only, and other APIs see the
code ``und``, which stands for an undetermined language.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from btg_seq2seq.errors import UsageError

UNDETERMINED = "und"
CODE = r"[A-Za-z]{2,3}(?:_[A-Za-z0-9]{2,8})*"
PAIR = re.compile(rf"({CODE})-({CODE})")
WITH_PAIR = re.compile(rf"(.+):({CODE}-{CODE})", re.DOTALL)
NAMED = re.compile(r"([\w.-]{1,64})=(.+)", re.DOTALL)
NAME = re.compile(r"[\w.-]{1,64}")

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "chr": "Cherokee",
    "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "nb": "Norwegian Bokmål", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian",
    "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
    "art": "an artificial language", UNDETERMINED: "undetermined",
}  # fmt: skip


@dataclass(frozen=True)
class Languages:
    """The languages of a model, as tags such as ``de`` or ``pt-BR``."""

    source: str = UNDETERMINED
    target: str = UNDETERMINED

    @classmethod
    def parse(cls, text: str) -> Languages:
        """Read ``de-en``; a region or script follows an underscore, as in ``pt_BR-en``."""
        found = PAIR.fullmatch(text)
        if found is None:
            raise UsageError(
                f"{text!r} is no pair of languages: write the codes of source and target, such as "
                "de-en or pt_BR-en"
            )
        return cls(*(tidy_tag(code) for code in found.groups()))

    @property
    def are_known(self) -> bool:
        """True if both languages were given."""
        return UNDETERMINED not in (self.source, self.target)


@dataclass(frozen=True)
class ModelSpec:
    """A model to serve: its name, directory and languages."""

    name: str
    directory: str
    languages: Languages = Languages()

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Read ``[NAME=]DIRECTORY[:SOURCE-TARGET]``; by default, the directory gives the name.

        A directory that exists under the whole text is taken as it is.
        """
        name, directory, languages = None, text, Languages()
        if not Path(text).is_dir():
            if named := NAMED.fullmatch(directory):
                name, directory = named.groups()
            if paired := WITH_PAIR.fullmatch(directory):
                directory, languages = paired.group(1), Languages.parse(paired.group(2))
        if not name:
            name = re.sub(r"[^\w.-]+", "-", Path(directory).resolve().name) or "model"
        return cls(name[:64], directory, languages)


def parse_models(texts: Sequence[str], languages: str | None = None) -> list[ModelSpec]:
    """Read all models; ``languages`` are those of models that are given without."""
    default = Languages() if languages is None else Languages.parse(languages)
    specs: list[ModelSpec] = []
    for text in texts:
        spec = ModelSpec.parse(text)
        if not spec.languages.are_known:
            spec = replace(spec, languages=default)
        for other in specs:
            if other.name == spec.name:
                raise UsageError(
                    f"two models have the name {spec.name!r}: {other.directory} and "
                    f"{spec.directory}; write NAME={spec.directory} for one of them"
                )
        specs.append(spec)
    return specs


def tidy_tag(tag: str) -> str:
    """Write a language tag as usual: ``PT_br`` becomes ``pt-BR``, ``zh_hans`` ``zh-Hans``."""
    first, *rest = tag.replace("_", "-").split("-")
    parts = [
        part.upper() if len(part) == 2 else part.title() if len(part) == 4 else part.lower()
        for part in rest
    ]
    return "-".join([first.lower(), *parts])


def matches(asked: str, served: str) -> bool:
    """Return whether a served language will do for the one asked for: ``en`` for ``EN-US``.

    One tag must begin with the other. An undetermined language only matches itself.
    """
    asked_parts, served_parts = (tidy_tag(tag).split("-") for tag in (asked, served))
    shorter = min(len(asked_parts), len(served_parts))
    return asked_parts[:shorter] == served_parts[:shorter]


def name_of(tag: str) -> str:
    """Return the English name of a language, with its region or script; or else its tag."""
    first, *rest = tag.split("-")
    name = NAMES.get(first, first)
    return f"{name} ({'-'.join(rest)})" if rest else name
