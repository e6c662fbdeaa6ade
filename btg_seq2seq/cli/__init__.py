"""Commands; one file each."""
