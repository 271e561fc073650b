"""`python -m noetlc.cli.places NAME KEYS`: where keys stand in the YAML document on standard input.

For the runtime, which reads documents as values alone and asks for a line only once there is something to say about it.
KEYS is JSON: a list of paths of keys. The answer is a list of [line, column], where a path is not there that of what is
nearest above it. No command of `noetlc`.
"""

import json
import sys
from collections.abc import Sequence

from noetlc.source.nodes import Mapping, Node
from noetlc.source.yaml_reader import read_yaml


def place_of(document: Node | None, path: Sequence[str]) -> tuple[int, int]:
    """Line and column of the key at the end of a path, or of as much of the path as there is."""
    here, found = document, document
    for key in path:
        if not isinstance(here, Mapping) or (entry := here.index.get(key)) is None:
            break
        found, here = entry
    return (1, 1) if found is None else (found.span.line, found.span.column)


def main(name: str, keys: str, data: bytes) -> int:
    """Print the places of some keys of the one document in `data`."""
    documents = read_yaml(name, data).documents
    document = documents[0] if len(documents) == 1 else None
    print(json.dumps([place_of(document, path) for path in json.loads(keys)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.stdin.buffer.read()))
