"""Tables and tuned settings beside a model: part of it, with checksums."""

import numpy as np
import pytest
from tiny_translators import CORPUS, SHORT, tokenizer_of, translator_of

from btg_seq2seq import Translator
from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import LEXICAL_FILE, TUNED_FILE, verify_files
from btg_seq2seq.model.tuned.tuned_settings import TunedSettings
from btg_seq2seq.tuning.model_files import attach_tables, estimate_tables, save_tuned


@pytest.fixture
def directory(tmp_path):
    translator = translator_of("bpe")
    translator.model.save_pretrained(tmp_path)
    tokenizer_of("bpe").save_pretrained(tmp_path)
    return tmp_path


def test_a_model_with_tables(directory):
    plain = Translator.from_pretrained(directory, SHORT)
    weights = {"lexical": 0.5, "reverse_lexical": 0.2}
    with pytest.raises(UserError, match="need word-translation tables"):
        plain.translate(["the dog"], "flat", weights=weights)
    tables = estimate_tables(plain, CORPUS, [text[::-1] for text in CORPUS])
    attach_tables(directory, tables)
    verify_files(directory)
    found = Translator.from_pretrained(directory, SHORT)
    np.testing.assert_allclose(found.tables.forward, tables.forward, rtol=1e-6)
    for mode in ("flat", "cky"):
        (one,) = found.translate(["the dog"], mode, weights=weights)
        assert one.ranked_by == "score"
    (directory / LEXICAL_FILE).write_bytes(b"damaged")
    with pytest.raises(UserError, match=rf"{LEXICAL_FILE} is damaged"):
        Translator.from_pretrained(directory)
    with pytest.raises(UserError, match=rf"{LEXICAL_FILE} cannot be read"):
        Translator.from_pretrained(directory, verify=False)


def test_very_long_pairs_are_left_out_of_tables():
    translator = translator_of("bpe")
    tables = estimate_tables(translator, [*CORPUS, "the dog " * 300], [*CORPUS, "dog"])
    np.testing.assert_array_equal(
        tables.forward, estimate_tables(translator, CORPUS, CORPUS).forward
    )


def test_a_tuned_model(directory, tmp_path):
    tuned = TunedSettings().with_mode("cky", {"weights": {"word": 2.0}, "flat_weight": 0.1}, {})
    for beam_size in (2, 3):  # replacing an older file too
        tuned = tuned.with_mode("flat", {"beam_size": beam_size}, {"before": 1.0})
        save_tuned(directory, tuned)
        verify_files(directory)
    found = Translator.from_pretrained(directory)
    assert found.settings_for("flat").beam_size == 3
    assert found.settings_for("cky").weights.word == 2.0
    assert found.translate(["the dog"], "cky")[0].ranked_by == "score"
    assert found.translate(["the dog"], "cky", weights={})[0].ranked_by == "probability"
    # Settings that are given to a translator are used as they are.
    assert Translator.from_pretrained(directory, SHORT).settings_for("cky") == SHORT
    found.model.save_pretrained(tmp_path / "again")
    assert TunedSettings.load(tmp_path / "again").modes.keys() == {"flat", "cky"}
    (directory / TUNED_FILE).write_text("{}")
    with pytest.raises(UserError, match=rf"{TUNED_FILE} is damaged"):
        Translator.from_pretrained(directory)
