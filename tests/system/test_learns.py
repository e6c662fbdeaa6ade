"""Training must learn: SVO-SOV with short phrases.

Each estimator finds trees, to a bar of its own; and the flat mode profits from recombination.
"""

from pathlib import Path

import pytest
import torch

from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.grammar import Tree
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.tasks.svo_sov import SvoSovConfig, generate
from btg_seq2seq.tasks.svo_sov_files import bitext_of
from btg_seq2seq.text import Bitext, BucketSampler, Collator, encode_bitext, train_tokenizer
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import ModelConfig, TokenizerConfig, TrainConfig
from btg_seq2seq.training.settings.optimisation import OptimisationConfig


def share_of_right_trees(parser, trees):
    gold = [Tree.parse(tree) for tree in trees]
    return sum(best == tree for best, tree in zip(parser.argmax, gold, strict=True)) / len(gold)


# The bars leave room for another machine's rounding. The paper's estimator runs with leave-one-out:
# with its self-critical baseline, some seeds find no tree at all.
@pytest.mark.parametrize(
    ("settings", "steps", "bar"),
    [
        (ObjectiveSettings(estimator="robust", segment_rate=0.05, uniform_steps=20), 120, 0.75),
        (
            ObjectiveSettings(
                estimator="robust", segment_rate=0.05, uniform_steps=20, summed_length=0
            ),
            120,
            0.65,
        ),
        (ObjectiveSettings(estimator="paper", segment_rate=0.05, samples=4), 120, 0.5),
    ],
    ids=["robust", "robust, one segmentation a tree", "paper"],
)
def test_parsers_find_the_trees(settings, steps, bar):
    data = generate(SvoSovConfig.tiny("few-shot"))
    train = bitext_of(data["train"])
    tokenizer = train_tokenizer("word", train.source + train.target)
    examples = encode_bitext(train, tokenizer)
    collate = Collator(tokenizer.pad_token_id)
    sampler = BucketSampler(examples.lengths, batch_size=32)

    torch.manual_seed(0)
    size = {"hidden_size": 64, "layers": 2, "heads": 4, "feed_forward_size": 128, "dropout": 0.0}
    config = default_config(len(tokenizer), **size)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    model.objective = BTGObjective(settings)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    step = 0
    while step < steps:
        for batch in sampler:
            model.objective.step = step
            loss = model(**collate([examples[index] for index in batch])).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
        sampler.set_epoch(step // len(sampler))

    dev = encode_bitext(bitext_of(data["dev"]), tokenizer)
    batch = collate([dev[index] for index in range(len(dev))])
    model.eval()
    with torch.no_grad():
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "labels")}
        pair = model.read(**inputs).pair
        parsers = Parsers.of(model, pair, torch.full((len(dev),), 3))
        posterior = share_of_right_trees(parsers.posterior, batch["trees"])
        prior = share_of_right_trees(parsers.prior, batch["trees"])
    assert posterior >= bar
    assert prior >= bar - 0.1


def text_of(items, with_derivations):
    derivations = {}
    if with_derivations:
        lengths = [[stop - start for start, stop in item.target_phrases] for item in items]
        derivations["trees"] = [str(item.tree) for item in items]
        derivations["segmentations"] = [" ".join(map(str, each)) for each in lengths]
    return Bitext([item.source for item in items], [item.target for item in items], **derivations)


@pytest.mark.parametrize("recombines", [True, False])
def test_recombination_teaches_the_flat_mode(recombines, tmp_path):
    """New combinations of known phrases are translated; without it few are (one in five)."""
    data = generate(SvoSovConfig.tiny("few-shot"))
    size = {"hidden_size": 64, "layers": 2, "heads": 4, "dropout": 0.0, "max_segments": 3}
    # Gold derivations find the trees fast; but the model's own are recombined.
    config = TrainConfig(
        output=str(tmp_path / "run"),
        tokenizer=TokenizerConfig("word"),
        model=ModelConfig(**size),
        objective=ObjectiveSettings("gold", flat_weight=0.5 if recombines else 1.0),
        optimisation=OptimisationConfig(
            steps=400, batch_size=32, parts=1, learning_rate=2e-3, warmup=20, eval_every=400
        ),
        recombination=RecombinationConfig(
            start=100 if recombines else None, every=100, derived=0.1
        ),
    )
    bitexts = Bitexts(text_of(data["train"], True), text_of(data["dev"], False))
    result = train(config, bitexts=bitexts, metrics=DevMetrics(sentences=60), quiet=True)
    assert (result.metrics["exact_match"] >= 50) == recombines


def test_small_initial_weights_learn_sooner(tmp_path):
    """T5's own start leaves the loss near the log of the vocabulary for many steps."""
    folder = Path(__file__).parents[2] / "examples" / "german"
    lines = [
        (folder / f"train.{language}").read_text().splitlines()[:200] for language in ("de", "en")
    ]
    bitexts = Bitexts(Bitext(*lines), Bitext(*lines))
    losses = {}
    for weights in ("small", "t5"):
        config = TrainConfig(
            output=str(tmp_path / weights),
            tokenizer=TokenizerConfig("bpe", vocabulary_size=600),
            model=ModelConfig(hidden_size=64, layers=2, heads=4, initial_weights=weights),
            objective=ObjectiveSettings(flat_weight=1.0, teacher="none"),
            optimisation=OptimisationConfig(
                steps=50, batch_size=32, learning_rate=1e-3, warmup=10, metric="loss", eval_every=50
            ),
        )
        losses[weights] = train(config, bitexts=bitexts, quiet=True).metrics["loss"]
    assert losses["small"] < 0.75 * losses["t5"]
