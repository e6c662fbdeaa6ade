"""One file per API: ours, and those that other programs already speak."""
