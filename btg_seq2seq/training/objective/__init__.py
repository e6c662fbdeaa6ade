"""The loss: phases, estimators and their terms."""
