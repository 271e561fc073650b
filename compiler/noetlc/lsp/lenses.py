"""Code lenses above each playbook of a file: run it, test it, draw it. The commands are the editor's."""

from lsprotocol import types

from noetlc.lsp.known import KnownFile
from noetlc.lsp.positions import Positions
from noetlc.source.nodes import Mapping

COMMANDS = (("run", "noetl.run"), ("test", "noetl.test"), ("picture", "noetl.picture"))
"""What a lens says, and the command of the editor that it calls with the URI of the file and the playbook's number."""


def lenses_of(known: KnownFile, uri: str, at: Positions) -> list[types.CodeLens]:
    """The lenses of a file, at the workflow of each playbook."""
    found = []
    for number, (root, _) in enumerate(known.documents):
        # At the workflow and not at the first line, which may be a comment about all playbooks of the file.
        key = root.key("workflow") if isinstance(root, Mapping) else None
        if key is not None:
            place = at.range(key.span)
            found += [
                types.CodeLens(place, types.Command(title, name, arguments=[uri, number])) for title, name in COMMANDS
            ]
    return found
