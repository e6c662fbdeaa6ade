"""Phrase pairs are learned with the tokenizer of the sentences, and training goes on from there."""

from tiny_reproduction import TASK, tiny_place

from btg_seq2seq.tasks.reproduction.pretraining import TOKENIZER, continued, pretrain
from btg_seq2seq.tasks.reproduction.stopwatch import Stopwatch
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.text import load_tokenizer


def test_pretraining_and_what_follows(tmp_path):
    place = tiny_place(tmp_path)
    sentences = TASK.bitexts(place.data)["train"]
    system = SYSTEMS["trivial-align"]
    config = place.settings.pretrain(system, 0, tmp_path / "run" / "pretraining")
    watch, said = Stopwatch(tmp_path / "run" / "cpu.json"), []
    for _ in range(2):  # the second time, all steps have been done
        options = {"quiet": True, "say": said.append}
        count = pretrain(config, "trivial", sentences, watch, **options)
    assert count > len(sentences)
    assert f"{count} phrase pairs of 40" in said[0]
    assert watch.seconds["pretraining"] > 0
    vocabulary = load_tokenizer(tmp_path / "run" / TOKENIZER).get_vocab()
    words = {
        f"\N{LOWER ONE EIGHTH BLOCK}{word}" for text in sentences.source for word in text.split()
    }
    assert words <= set(vocabulary)
    after = continued(place.settings.train(system, 0, tmp_path), tmp_path / "run" / "pretraining")
    assert after.model.init_from == str(tmp_path / "run" / "pretraining")
    assert after.tokenizer.kind is None
