"""Phrase pairs to learn before sentences: the baselines Trivial-Align and Fast-Align."""
