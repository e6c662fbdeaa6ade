"""Translation rules: their files, matches, and application to texts."""
