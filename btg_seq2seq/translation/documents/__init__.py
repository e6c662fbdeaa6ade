"""Texts as they are: markup, placeholders and sentences, taken apart and put together again."""
