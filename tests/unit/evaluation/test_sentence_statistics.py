"""Metrics from statistics of sentences are the metrics themselves."""

import numpy as np
import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.metrics import METRICS, MetricOptions
from btg_seq2seq.evaluation.sentence_statistics import DECOMPOSED, SentenceStatistics

REFERENCES = ["the dog saw the cat in the garden", "a small house", "it is", ""]
TEXTS = ["the dog saw a cat in the garden", "a  small house", "", "no"]
CHINESE = ["他们去了商店", "我喜欢这所房子", "今天天气很好", "她在学校里"]


@pytest.mark.parametrize("metric", DECOMPOSED)
@pytest.mark.parametrize("references", [REFERENCES, CHINESE])
def test_the_sum_is_the_metric(metric, references):
    texts = TEXTS if references is REFERENCES else [CHINESE[0], CHINESE[1][:4], "", "她在家里"]
    statistics = SentenceStatistics(metric, references)
    expected = METRICS[metric].compute(texts, references, MetricOptions()).value
    assert statistics.of_texts(texts) == pytest.approx(expected)
    rows = [statistics.of(sentence, text) for sentence, text in enumerate(texts)]
    assert statistics.score(np.sum(rows, 0)) == pytest.approx(expected)


def test_what_is_refused():
    with pytest.raises(UserError, match="must be one of bleu, chrf, exact_match, not 'ter'"):
        SentenceStatistics("ter", ["a"])
    with pytest.raises(UserError, match="no references"):
        SentenceStatistics("bleu", [])
    with pytest.raises(UserError, match="no tokenizer 'x'"):
        SentenceStatistics("bleu", ["a"], MetricOptions("x"))
