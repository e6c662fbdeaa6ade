"""Ranking of texts: candidates rescored as whole sentences, and minimum Bayes risk."""
