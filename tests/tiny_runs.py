"""Training runs of a few steps on a few sentences."""

from functools import cache

from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.text import Bitext
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.settings.config import ModelConfig, TokenizerConfig, TrainConfig
from btg_seq2seq.training.settings.objective import ObjectiveSettings
from btg_seq2seq.training.settings.optimisation import OptimisationConfig

SIZE = {"hidden_size": 16, "layers": 1, "heads": 2, "scorer_width": 8, "max_segments": 3}


@cache
def task():
    return generate(SvoSovConfig.tiny("few-shot"))


def tiny_bitext(split, pairs):
    items = task()[split][:pairs]
    sides = [item.source for item in items], [item.target for item in items]
    return Bitext(*sides, name=f"{split}.src and {split}.tgt")


def tiny_bitexts():
    return Bitexts(tiny_bitext("train", 50), tiny_bitext("dev", 10))


def tiny_config(directory, dropout=0.1, flat=False, **optimisation):
    """``flat``: without the grammar, which takes most of the time."""
    defaults = {"steps": 12, "batch_size": 8, "log_every": 1, "eval_every": 4, "save_every": 3}
    defaults |= {"learning_rate": 1e-2, "warmup": 4, "parts": 1}
    return TrainConfig(
        output=str(directory),
        tokenizer=TokenizerConfig("word"),
        model=ModelConfig(**SIZE, dropout=dropout),
        objective=ObjectiveSettings(
            flat_weight=1.0 if flat else 0.5, samples=2, uniform_steps=0, teacher="none"
        ),
        optimisation=OptimisationConfig(**(defaults | optimisation)),
    )
