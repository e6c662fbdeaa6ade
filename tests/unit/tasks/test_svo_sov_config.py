"""Settings of SVO-SOV: the paper's sizes by default; what cannot be generated is refused."""

from typing import get_args

import pytest
from checks import refused

from btg_seq2seq.tasks.svo_sov_config import Split, SvoSovConfig

SPLITS = get_args(Split)
READABLE = {"words": "readable", "phrase_lengths": (1, 4), "train_size": 300}


@pytest.mark.parametrize("split", SPLITS)
def test_defaults_are_the_sizes_of_the_paper(split):
    config = SvoSovConfig(split)
    sizes = {"few-shot": (2000, 500, 500), "novel-position": (20000, 5000, 5000)}
    assert (config.train_size, config.dev_size, config.test_size) == sizes[split]
    assert config.phrase_lengths == (1, 8)
    assert config.all_noun_phrases == {"few-shot": 667 + 50, "novel-position": 100}[split]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"split": "zero-shot"}, ["zero-shot", "few-shot", "novel-position"]),
        ({"words": "latin"}, ["words", "latin", "tokens", "readable"]),
        ({"phrase_lengths": (0, 3)}, ["phrase_lengths", "0"]),
        ({"phrase_lengths": (4, 3)}, ["phrase_lengths", "4"]),
        ({"dev_size": 0}, ["dev_size", "0"]),
        ({"train_size": -2}, ["train_size", "-2"]),
        ({"train_size": 2}, ["train_size", "3 examples"]),
        ({"noun_phrases": 10}, ["noun_phrases", "few-shot"]),
        ({"split": "novel-position", "object_phrases": 10}, ["object_phrases", "novel-position"]),
        ({"split": "novel-position", "train_size": 209}, ["train_size", "210"]),
        ({"split": "novel-position", "subject_only": 100, "object_only": 0}, ["subject_only"]),
        ({"split": "novel-position", "subject_only": 0, "object_only": 0}, ["object_only"]),
        ({"split": "novel-position", "subject_only": 60, "object_only": 60}, ["100"]),
        ({"vocabulary_size": 2, "phrase_lengths": (1, 3)}, ["747", "14", "vocabulary_size"]),
        ({"words": "readable"}, ["phrase_lengths", "(1, 8)", "at most 4 words"]),
        ({**READABLE, "vocabulary_size": 401}, ["vocabulary_size", "400 readable words"]),
        ({**READABLE, "phrase_lengths": (1, 1)}, ["different noun phrases", "only 16"]),
        ({**READABLE, "phrase_lengths": (2, 2), "verb_phrases": 100}, ["100", "verb", "only 64"]),
    ],
)
def test_impossible_settings_are_refused(changes, words):
    with refused(*words):
        SvoSovConfig(**changes)
