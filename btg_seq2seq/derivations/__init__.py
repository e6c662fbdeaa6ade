"""How a sentence pair is cut into aligned phrases: parsers, draws, sums over segmentations."""
