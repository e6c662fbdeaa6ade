"""Settings of a run, importable without torch."""
