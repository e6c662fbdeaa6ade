"""Decoding settings and ranking weights, chosen on a dev set."""
