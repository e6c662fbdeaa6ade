"""Derivations of sentence pairs: parsers, samples, proposals, sums over segmentations."""
