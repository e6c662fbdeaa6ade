"""The tokenizer for BLEU: by script, and by whether words are separated by spaces."""

import pytest

from btg_seq2seq.evaluation import bleu_tokenizers
from btg_seq2seq.evaluation.bleu_tokenizers import tokenizer_for


@pytest.mark.parametrize(
    ("references", "tokenizer"),
    [
        (["The cat sat.", "Ein Hund."], "13a"),
        (["Собака спала."], "13a"),
        (["나는 학교에 갔다"], "13a"),
        ([""], "13a"),
        (["我们在花园里散步。", "他没有来。"], "zh"),
        (["我们用BERT模型做fine-tuning实验。"], "zh"),
        (["我们 在 花园 里 散步 。"], "13a"),  # somebody has cut it into words
        (["An example: 我 means I, and that is all there is to it."], "13a"),
        (["私は昨日、学校に行きました。"], "char"),
        (["ผมไปโรงเรียน"], "char"),
        (["𠀀𠀁𠀂"], "char"),
    ],
)
def test_by_script(references, tokenizer, monkeypatch):
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda name: None)
    assert tokenizer_for(references) == tokenizer


def test_japanese_where_mecab_is_installed(monkeypatch):
    monkeypatch.setattr(bleu_tokenizers, "find_spec", lambda name: object())
    assert tokenizer_for(["私は昨日、学校に行きました。"]) == "ja-mecab"


def test_references_behind_the_sample_do_not_count():
    assert tokenizer_for(["a b"] * 1000 + ["我们在花园里散步"] * 9000) == "13a"
