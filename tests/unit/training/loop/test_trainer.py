"""Training runs: stopped with reasons, and normalised over what they should be."""

import re
from dataclasses import replace
from inspect import signature

import pytest
import torch
from tiny_runs import task, tiny_bitext, tiny_bitexts, tiny_config
from transformers import Seq2SeqTrainer

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.tasks.svo_sov_files import bitext_of
from btg_seq2seq.text import Bitext
from btg_seq2seq.training import build_trainer
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.checkpoints import Checkpoints, load_weights
from btg_seq2seq.training.loop.trainer import CALLED, OVERRIDDEN, BTGTrainer
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.run import train


def run(config, bitexts=None, **options):
    return train(config, bitexts=bitexts or tiny_bitexts(), quiet=True, **options)


class Spoiled(BTGObjective):
    """Loss or gradient of one sentence is not a number, from the third update on."""

    spoil = staticmethod(lambda loss: loss * float("nan"))

    def __call__(self, model, reading, index=None, *others):
        output = super().__call__(model, reading, index, *others)
        if self.step >= 2 and 4 in index:
            output["loss"] = self.spoil(output["loss"])
        return output


class Root(torch.autograd.Function):
    """Finite, with a gradient that is not."""

    @staticmethod
    def forward(context, loss):
        return loss.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * float("inf")


@pytest.mark.parametrize(
    ("spoil", "what"), [(Spoiled.spoil, "loss is nan"), (Root.apply, "gradient is")]
)
def test_what_is_not_finite_stops_with_the_lines(tmp_path, monkeypatch, spoil, what):
    monkeypatch.setattr(build_trainer, "BTGObjective", Spoiled)
    monkeypatch.setattr(Spoiled, "spoil", staticmethod(spoil))
    models, build = [], build_trainer.build_model
    monkeypatch.setattr(
        build_trainer, "build_model", lambda *given: models.append(build(*given)) or models[0]
    )
    config = tiny_config(tmp_path / "run", flat=True, save_every=1, eval_every=100)
    with pytest.raises(ValueError, match=what) as caught:
        run(config)
    message = str(caught.value)
    lines = message.split("lines ")[1].split(" of ")[0].split(", ")
    assert "5" in lines
    assert len(lines) <= 8
    assert "train.src and train.tgt" in message
    checkpoint = Checkpoints(tmp_path / "run").last
    assert str(checkpoint) in message
    # The weights are those of the checkpoint: nothing was updated after it.
    saved = BTGSeq2Seq.from_pretrained(checkpoint).state_dict()
    for name, weight in models[0].state_dict().items():
        assert torch.equal(weight, saved[name]), name


def test_training_goes_on_after_a_failed_evaluation(tmp_path):
    """Whoever catches the error finds the model and its objective as they were."""
    seen = []

    def failing(model, tokenizer, bitext):
        seen.append((model, model.training, model.objective.step))
        raise RuntimeError("no metric today")

    with pytest.raises(RuntimeError, match="no metric today"):
        run(tiny_config(tmp_path / "run", eval_every=2), metrics=failing)
    ((model, was_training, step),) = seen
    assert (was_training, step) == (False, 12)  # that of the end
    assert (model.training, model.objective.step) == (True, 1)


def test_accumulated_batches_are_one_batch(tmp_path):
    """Sixteen sentences at once, or in two parts with different numbers of tokens."""
    bitexts = Bitexts(tiny_bitext("train", 16))
    options = {"steps": 3, "save_every": 9}
    whole = run(tiny_config(tmp_path / "a", 0.0, batch_size=16, **options), bitexts)
    parts = run(tiny_config(tmp_path / "b", 0.0, batch_size=8, accumulate=2, **options), bitexts)
    for entry, other in zip(whole.history, parts.history, strict=True):
        for name in ("loss", "flat", "cut_loss", "grad_norm"):
            assert entry[name] == pytest.approx(other[name], rel=1e-5)


@pytest.mark.parametrize("flat", [False, True])
def test_a_batch_in_parts_is_the_same_update(tmp_path, flat):
    """In one piece, in three parts that are not equal, and in more parts than sentences."""
    bitexts = Bitexts(tiny_bitext("train", 16))
    whole, *others = (
        run(tiny_config(tmp_path / str(parts), 0.0, flat, steps=3, parts=parts), bitexts)
        for parts in (1, 3, 9)
    )
    for other in others:
        for entry, same in zip(whole.history, other.history, strict=True):
            for name in ("loss", "flat", "grad_norm", *(["cut_loss", "divergence"] * (not flat))):
                assert entry[name] == pytest.approx(same[name], rel=1e-4)


def test_the_best_checkpoint_becomes_the_model_and_training_stops_early(tmp_path):
    measures = iter([0.2, 0.5, 0.4, 0.3, 0.9])
    seen = []

    def metrics(model, tokenizer, dev):
        assert not model.training
        seen.append(len(dev))
        return {"bleu": next(measures)}

    options = {"eval_every": 2, "save_every": 5, "metric": "bleu", "patience": 2}
    result = run(tiny_config(tmp_path / "run", flat=True, **options), metrics=metrics)
    assert result.steps == 8
    assert result.averaged_steps == [4]
    assert result.metrics["bleu"] == 0.9  # measured once more at the end
    assert seen == [10] * 5
    checkpoints = Checkpoints(tmp_path / "run")
    assert checkpoints.steps == [4, 8]
    # A run that is done may end otherwise, without a step more.
    config = tiny_config(tmp_path / "run", flat=True, **options, final="last")
    result = run(config, metrics=lambda *_: {"bleu": 0.3}, resume=True)
    assert (result.steps, result.averaged_steps) == (8, [8])
    last = load_weights(checkpoints.path(8))
    assert all(
        torch.equal(weight, last[name]) for name, weight in load_weights(result.directory).items()
    )


@pytest.mark.parametrize(("flat_steps", "best"), [(0, 2), (2, 4), (3, 4), (6, 2)])
def test_the_best_checkpoint_is_one_whose_parsers_have_learned(tmp_path, flat_steps, best):
    """Unless none of them ever do, as in plain training."""
    measures = iter([0.5, 0.4, 0.3, 0.3])
    options = {"steps": 6, "eval_every": 2, "metric": "bleu"}
    config = tiny_config(tmp_path / "run", **options)
    config.objective = replace(config.objective, flat_steps=flat_steps)
    result = run(config, metrics=lambda *_: {"bleu": next(measures)})
    assert result.averaged_steps == [best]


def test_a_metric_that_nobody_measures(tmp_path):
    config = tiny_config(tmp_path / "run", flat=True, metric="bleu", eval_every=1)
    with pytest.raises(ValueError, match=r"'bleu'.*measured by .*flat.*loss.*ter"):
        run(config, metrics=lambda *_: {"ter": 0.5})


@pytest.mark.parametrize("metric", ["chrf", "prior_trees"])
def test_a_metric_that_somebody_must_measure(tmp_path, metric):
    with pytest.raises(ValueError, match=rf"optimisation\.metric is {metric}, .*DevMetrics"):
        run(tiny_config(tmp_path / "run", metric=metric))
    assert not (tmp_path / "run").exists()


def test_metrics_do_not_disturb_training(tmp_path):
    def metrics(model, tokenizer, dev):
        return {"drawn": torch.rand(()).item()}

    options = {"steps": 4, "eval_every": 1}
    alone = run(tiny_config(tmp_path / "a", flat=True, **options))
    watched = run(tiny_config(tmp_path / "b", flat=True, **options), metrics=metrics)
    for name, weight in alone.model.state_dict().items():
        assert torch.equal(weight, watched.model.state_dict()[name])


def test_without_a_dev_set_the_last_checkpoint_is_the_model(tmp_path):
    result = run(
        tiny_config(tmp_path / "run", flat=True, steps=4), Bitexts(tiny_bitext("train", 50))
    )
    assert result.averaged_steps == [4]
    assert result.metrics == {}


def test_the_parsers_have_a_learning_rate_of_their_own(tmp_path):
    options = {"steps": 1, "learning_rate": 1e-30, "warmup": 0}
    bitexts = Bitexts(tiny_bitext("train", 50))
    still = run(tiny_config(tmp_path / "a", **options), bitexts).model
    moved = run(tiny_config(tmp_path / "b", parser_learning_rate=1e-2, **options), bitexts).model
    weights = {
        name: (weight, still.get_parameter(name)) for name, weight in moved.named_parameters()
    }
    changed = {name for name, pair in weights.items() if not torch.equal(*pair)}
    assert {name.split(".")[0] for name in changed} == {"prior", "posterior", "leaves"}


def test_norms_and_biases_do_not_decay(tmp_path):
    """Gradients are clipped to nothing, so that decay is all that a weight feels."""
    options = {"steps": 1, "learning_rate": 1e-2, "warmup": 0, "clip": 1e-30}
    bitexts = Bitexts(tiny_bitext("train", 50))
    still, decayed = (
        run(tiny_config(tmp_path / str(decay), weight_decay=decay, **options), bitexts).model
        for decay in (0.0, 5.0)
    )
    for name, weight in still.named_parameters():
        change = (decayed.get_parameter(name) - weight).abs().sum()
        assert (change > 0) == ("norm" not in name and "bias" not in name), name


def test_dev_trees_that_do_not_fit_are_refused_at_once(tmp_path):
    dev = replace(tiny_bitext("dev", 3), trees=["[0:1 1:2]"] * 3)
    config = tiny_config(tmp_path / "run", flat=True)
    with pytest.raises(ValueError, match=r"dev\.tgt: line 1: the tree .* does not span"):
        run(config, Bitexts(tiny_bitext("train", 50), dev))
    assert not (tmp_path / "run").exists()


def test_sentences_too_long_for_the_grammar_train_flat_and_are_counted(tmp_path, capsys):
    bitext = tiny_bitext("train", 20)
    long = " ".join(bitext.source[0].split() * 10)
    bitext = Bitext([*bitext.source, long], [*bitext.target, long])
    config = tiny_config(tmp_path / "run", steps=3)
    config.model.max_grammar_length = 20
    train(config, bitexts=Bitexts(bitext))
    assert "1 training pairs have more than max_grammar_length=20 words" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*OVERRIDDEN, *CALLED])
def test_private_methods_of_the_trainer_of_transformers(name):
    """A new version may rename them or change their parameters, and must not do so unnoticed."""
    assert hasattr(Seq2SeqTrainer, name)
    theirs, ours = (
        [(each.name, each.default) for each in signature(getattr(kind, name)).parameters.values()]
        for kind in (Seq2SeqTrainer, BTGTrainer)
    )
    assert theirs == ours
    assert (name in vars(BTGTrainer)) == (name in OVERRIDDEN)


def test_all_overridden_private_methods_are_listed():
    private = {name for name in vars(BTGTrainer) if re.fullmatch(r"_[a-z]\w*[a-z]", name)}
    assert {name for name in private if hasattr(Seq2SeqTrainer, name)} == {*OVERRIDDEN}


def test_bf16_trains(tmp_path):
    result = run(tiny_config(tmp_path / "run", steps=2, bf16=True))
    assert result.model.forward.__func__ is BTGSeq2Seq.forward  # not wrapped any more
    assert all(weight.dtype == torch.float32 for weight in result.model.parameters())


def test_checkpoints_that_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, every=3, keep=2)
    for step in (2, 3, 6, 7, 9, 12, 13):
        checkpoints.path(step).mkdir(parents=True)
    checkpoints.prune(best=2)
    # 13 is the last; of those before it, 7 was saved out of turn.
    assert checkpoints.steps == [2, 12, 13]
    assert checkpoints.averaged(2) == [12, 13]


def test_gold_derivations_are_learned_from(tmp_path):
    items = task()["train"][:20]
    gold = bitext_of(items, gold=True)
    config = tiny_config(tmp_path / "run", steps=2)
    with pytest.raises(ValueError, match=r"data\.train_segmentations"):
        run(config, Bitexts(gold))
    config.objective.estimator = "gold"
    with pytest.raises(ValueError, match=r"data\.train_segmentations"):
        run(config, tiny_bitexts())
    result = run(config, Bitexts(gold, tiny_bitext("dev", 4)))
    trained = [entry for entry in result.history if "loss" in entry]
    assert all({"prior", "posterior", "leaves"} <= entry.keys() for entry in trained)
    assert result.metrics.keys() >= {"loss", "flat"}  # the dev set has no derivations
