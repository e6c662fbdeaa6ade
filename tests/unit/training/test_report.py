"""The messages of a run."""

from tiny_runs import tiny_bitexts, tiny_config

from btg_seq2seq.recombination.recombine import Tries
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.training.build import build_model
from btg_seq2seq.training.data import build_tokenizer, encode
from btg_seq2seq.training.report import describe_result, describe_run


def said(config):
    bitexts = tiny_bitexts()
    tokenizer = build_tokenizer(config, bitexts.train)
    frames = Frames.of(tokenizer)
    model = build_model(config.model, tokenizer)
    data = encode(bitexts.train, tokenizer, frames, None, "skip")
    return "\n".join(describe_run(config, model, len(tokenizer), frames, data, None))


def test_model_and_data_are_described(tmp_path):
    text = said(tiny_config(tmp_path))
    assert "t5 from random weights" in text
    assert "50 of 50 pairs" in text
    assert "no best checkpoint" in text
    assert "the parsers learn from the first step" in text
    assert text.endswith(f"output: {tmp_path}")


def test_doubtful_settings_are_named(tmp_path):
    config = tiny_config(tmp_path, steps=5)
    config.objective.uniform_steps = 5
    config.recombination.start = 9
    config.model.max_grammar_length = 3
    text = said(config)
    assert "the parsers wait for 5 steps" in text
    assert "recombination.start is 9, but there are 5 steps" in text
    assert "more than max_grammar_length=3 words" in text


def test_the_result_is_described():
    lines = list(describe_result([4, 8], {"loss": 1.5, "bleu": 30.0}, "bleu", Tries(1000, 3)))
    assert "the mean of steps 4, 8" in lines[0]
    assert "30" in lines[0]
    assert "recombined sentences: 1,000, of which 3 coincided" in lines[1]
    assert list(describe_result([4], {}, "loss", None)) == ["the final model is step 4"]
