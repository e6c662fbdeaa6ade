"""What ``make demo`` shows: the grammar at work on one sentence."""

import torch

from btg_seq2seq.grammar import LeafCRF, Tree, TreeCRF, splits, truncated_geometric

SOURCE = ["她", "昨天", "在", "桥上", "遇见", "了", "她的", "朋友"]
TARGET = ["yesterday", "she", "met", "her", "friend", "on", "the", "bridge"]
# How a person would cut and reorder it: "yesterday / she / met her friend / on the bridge".
WANTED = Tree.from_phrases([(1, 2), (0, 1), (4, 8), (2, 4)])
TARGET_FENCEPOSTS = [0, 1, 2, 5, 8]


def prefer(wanted: list[tuple[int, int, int]], length: int, strength: float) -> torch.Tensor:
    """Scores that give the wanted splits a bonus over noise, ``[1, splits]``."""
    every = splits(length)
    noise = torch.randn(1, len(every), generator=torch.Generator().manual_seed(0))
    bonus = [strength * (tuple(split) in wanted) for split in every.tolist()]
    return noise + torch.tensor([bonus])


def main() -> None:
    """Print a distribution over trees: its best tree, samples, and the target phrases."""
    print("source:", " ".join(SOURCE))
    print("target:", " ".join(TARGET))
    print("scores: not learned; noise, plus a bonus for the splits a person would choose\n")
    length, segments = len(SOURCE), WANTED.segments
    scores = torch.stack(
        [
            prefer(
                [(n.start, n.split, n.stop) for n in WANTED.nodes if n.inverted == inverted],
                length,
                strength=3.0,
            )
            for inverted in (False, True)
        ],
        dim=-1,
    )  # [1, splits, 2]
    crf = TreeCRF(scores, lengths=[length], segments=[segments])
    print(f"trees with {segments} leaves: entropy {crf.entropy.item():.2f} nats")
    print("square brackets keep the order of the source, angle brackets invert it\n")
    generator = torch.Generator().manual_seed(1)
    shown = {"most probable": crf.argmax}
    shown |= {f"sample {draw}": crf.sample(generator) for draw in (1, 2, 3, 4)}
    for name, trees in shown.items():
        words = " / ".join(" ".join(SOURCE[start:stop]) for start, stop in trees[0].phrases)
        probability = crf.log_prob(trees).exp().item()
        print(f"{name:14} p={probability:.3f}  {trees[0]!s:34} {words}")

    best = crf.argmax
    nodes = best.leaf_splits[0].tolist()  # which leaves each node splits where, in target order
    wanted = [tuple(TARGET_FENCEPOSTS[leaf] for leaf in node) for node in nodes]
    leaves = LeafCRF(prefer(wanted, len(TARGET), 3.0), [len(TARGET)], best)
    print("\nphrase pairs along the most probable tree:")
    for source, target in zip(best[0].phrases, leaves.argmax[0], strict=True):
        print("  ", " ".join(SOURCE[slice(*source)]), "->", " ".join(TARGET[slice(*target)]))
    counts = truncated_geometric(0.7, torch.tensor([4]))[0].exp().tolist()
    print("\nnumber of phrases:", ", ".join(f"p({n + 1})={p:.3f}" for n, p in enumerate(counts)))


if __name__ == "__main__":
    main()
