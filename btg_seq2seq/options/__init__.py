"""Command lines and files of settings, and one-line messages for what is wrong with them."""
