"""Models named on the command line, and their languages."""

import pytest

from btg_seq2seq.errors import UsageError
from btg_seq2seq.workbench.languages import (
    Languages,
    ModelSpec,
    matches,
    name_of,
    parse_models,
    tidy_tag,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runs/news", ModelSpec("news", "runs/news")),
        ("runs/news/", ModelSpec("news", "runs/news/")),
        ("runs/news:de-en", ModelSpec("news", "runs/news", Languages("de", "en"))),
        ("n=runs/news:pt_BR-en", ModelSpec("n", "runs/news", Languages("pt-BR", "en"))),
        ("n=C:/runs", ModelSpec("n", "C:/runs")),
        ("runs/a b", ModelSpec("a-b", "runs/a b")),
    ],
)
def test_models_are_read(text, expected):
    assert ModelSpec.parse(text) == expected


def test_a_directory_that_exists_is_taken_as_it_is(tmp_path):
    directory = tmp_path / "x=y:de-en"
    directory.mkdir()
    spec = ModelSpec.parse(str(directory))
    assert spec.directory == str(directory)
    assert not spec.languages.are_known


def test_languages_of_models_that_are_given_without():
    first, second = parse_models(["a=one", "b=two:fr-en"], "de-en")
    assert first.languages == Languages("de", "en")
    assert second.languages == Languages("fr", "en")


@pytest.mark.parametrize("languages", ["de", "de-", "german-english-french", "de en", ""])
def test_wrong_languages_are_refused(languages):
    with pytest.raises(UsageError, match="no pair of languages"):
        parse_models(["a=one"], languages)


def test_names_must_differ():
    with pytest.raises(UsageError, match="two models have the name 'a'"):
        parse_models(["x/a", "y/a"])


@pytest.mark.parametrize(
    ("asked", "served", "expected"),
    [
        ("EN-US", "en", True),
        ("pt", "pt-BR", True),
        ("pt-PT", "pt-BR", False),
        ("de", "en", False),
        ("de", "und", False),
        ("und", "und", True),
        ("zh_hans", "zh-Hans", True),
    ],
)
def test_matches(asked, served, expected):
    assert matches(asked, served) == expected


def test_tags_and_names():
    assert tidy_tag("ZH_hant_TW") == "zh-Hant-TW"
    assert name_of("de") == "German"
    assert name_of("pt-BR") == "Portuguese (BR)"
    assert name_of("xyz") == "xyz"
