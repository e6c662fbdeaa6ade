"""Extensions: modules of other packages that register metrics, commands, backbone families etc.

A package names such a module in its ``pyproject.toml``,

    [project.entry-points.btg_seq2seq]
    my_extension = "my_package.btg_extension"

and every ``btg`` command imports it before it starts. Python programs import it themselves.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from btg_seq2seq.errors import UserError

GROUP = "btg_seq2seq"


def load_plugins() -> None:
    """Import the extensions of all installed packages."""
    for extension in entry_points(group=GROUP):
        try:
            extension.load()
        except Exception as error:
            raise UserError(
                f"the extension {extension.name} ({extension.value}) cannot be loaded: "
                f"{type(error).__name__}: {error}; update or uninstall its package"
            ) from error
