"""How good translations are: numbers that another person can reproduce."""
