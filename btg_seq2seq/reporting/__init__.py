"""Training reports: the files of one or several runs as a self-contained HTML page."""
