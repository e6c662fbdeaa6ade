"""Evaluation: scores that another person can reproduce."""
