"""A tiny model, one sentence pair, and all derivations of it with two phrases."""

import torch

from btg_seq2seq.grammar import Leaf, Node
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training import BTGObjective, ObjectiveSettings

END = 1
INPUT = {
    "input_ids": torch.tensor([[10, 11, 12, END]]),
    "attention_mask": torch.ones(1, 4, dtype=torch.long),
    "labels": torch.tensor([[20, 21, 22, END]]),
}
TREES = [
    Node(Leaf(0, split), Leaf(split, 3), inverted) for split in (1, 2) for inverted in (False, True)
]
SEGMENTATIONS = [[(0, 1), (1, 3)], [(0, 2), (2, 3)]]
GIVEN = {"trees": [TREES[1]], "segmentations": [SEGMENTATIONS[0]]}

# Terms of every estimator that looks for derivations.
TERMS = {"flat", "parsed", "cut_loss", "phrases", "divergence", "tree_entropy"}
TERMS |= {"leaf_entropy", "log_posterior", "reward_deviation"}
TERMS |= {f"phrases_from_{length}" for length in (1, 2, 4, 8)}


def tiny_model(**settings):
    torch.manual_seed(0)
    config = default_config(30, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=2, **settings).double().eval()
    model.backbone.add_segment_ids(2, 3)
    with torch.no_grad():  # away from uniform trees
        for scorer in (model.prior, model.posterior, model.leaves):
            scorer.output.mul_(20)
    return model


def output_at(model, step=0, **settings):
    """Loss and terms of the sentence pair at a step."""
    model.objective = BTGObjective(ObjectiveSettings(**settings))
    model.objective.step = step
    return model(**INPUT, index=torch.tensor([7]))
