"""``btg reproduce``: train the systems of a task, choose by dev, test, compare and report."""
