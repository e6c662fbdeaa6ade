"""The real-text tasks: files, checksums, metric, the paper's numbers, and the origin."""
