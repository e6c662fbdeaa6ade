"""Hierarchical phrase-based sequence-to-sequence learning with bracketing transduction grammars."""

__version__ = "0.1.0"
