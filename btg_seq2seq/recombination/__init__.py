"""New sentence pairs from the derivations of a bitext."""
