"""The HTTP server: models behind several APIs, and the page of the workbench."""
