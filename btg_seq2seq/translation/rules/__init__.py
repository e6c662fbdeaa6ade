"""Translation rules: what they say, where they come from, where they match."""
