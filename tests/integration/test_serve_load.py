"""Many clients at once, for a few seconds; ``make load`` does the same for a minute."""

import asyncio

from benchmarks.load import cases_for, put_under_load
from benchmarks.running_server import random_sentences, running, write_random_model
from btg_seq2seq import Translator


def test_every_answer_under_load_is_right(tmp_path):
    write_random_model(tmp_path / "model", hidden=16, layers=1)
    texts = random_sentences(12, length=(3, 8))
    cases = cases_for(Translator.from_pretrained(tmp_path / "model"), texts)
    options = ["--threads", "1", "--glossaries", str(tmp_path / "glossaries.sqlite")]
    # The queue is short, so that some requests are refused.
    options += ["--limits.waiting", "20", "--limits.cache-megabytes", "1"]
    with running(f"m={tmp_path / 'model'}", *options) as server:
        outcome = asyncio.run(put_under_load(server, cases, clients=32, seconds=4))
    assert outcome.wrong == []
    assert {*outcome.statuses} <= {200, 429}
    assert outcome.statuses[200] > 0
