"""Tuning of a run: every mode once, with tables of the training text, saved beside the model."""

from copy import copy

from tiny_reproduction import TASK
from tiny_translators import CORPUS, translator_of

from btg_seq2seq.derivations.lexical.teacher import untracked
from btg_seq2seq.manifest import write_manifest
from btg_seq2seq.tasks.reproduction.tuning import add_tables, modes_of, tune_mode, tuned_values
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.translator import Translator

DEV = Bitext(["the dog saw", "the garden"], ["das Haus ist klein", "von Grund auf"])


def test_modes():
    assert modes_of(has_grammar=False) == ("flat",)
    assert modes_of(has_grammar=True) == ("flat", "cky", "rescored")


def test_settings_are_chosen_once_and_kept(tmp_path):
    translator = copy(translator_of("word"))
    translator.model.save_pretrained(tmp_path)
    translator.tokenizer.save_pretrained(tmp_path)
    write_manifest(tmp_path)
    add_tables(translator, tmp_path, Bitext(CORPUS, CORPUS[::-1]), untracked)
    said = []
    tune_mode(translator, tmp_path, DEV, "flat", TASK, said.append)
    values = tuned_values(translator, "flat", TASK)
    assert values["dev"]["bleu"] >= values["dev_untuned"]["bleu"]
    assert "length_normalised" in values["settings"]
    assert said[0] == "tuning flat on 2 dev sentences"
    assert "dev, flat: BLEU" in said[1]
    loaded = Translator.from_pretrained(tmp_path)
    assert loaded.tables is not None
    assert tuned_values(loaded, "flat", TASK) == values
    tune_mode(loaded, tmp_path, DEV, "flat", TASK, said.append)
    assert len(said) == 2  # nothing was done again
