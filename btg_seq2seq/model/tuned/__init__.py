"""Settings that are chosen on a dev set: weights of features, and settings for each mode."""
