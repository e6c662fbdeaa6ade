"""Texts in, texts out: rules, translations with their derivations, alignments, scores."""
