"""The lexical teacher: word translation tables, and the exact bitext grammar that they score."""
