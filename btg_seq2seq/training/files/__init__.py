"""The directory of a run: its lock, its checkpoints, and the files that it may write and remove."""
