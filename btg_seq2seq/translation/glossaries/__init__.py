"""Glossaries: rules in the files that translators exchange."""
