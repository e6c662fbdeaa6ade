"""Side-by-side measurements: every number in the documentation comes from one of these runs."""
