"""Beam search over sentences and phrases."""
