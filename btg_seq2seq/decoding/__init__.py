"""Decoding, in token ids: flat, and by the grammar (cky)."""
