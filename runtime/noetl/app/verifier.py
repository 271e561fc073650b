"""The name of the checks that a plan passes when it is read. A store seals under this name that a plan has passed.

Verifying a large plan takes longer than reading it, so it is done once. The name is a hash of the source of `noetl_ir`:
any change of a check, of the reader or of a kind's contract gives another name, and old seals count no more.
"""

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

import noetl_ir

if TYPE_CHECKING:
    from pathlib import Path

_FOLDERS = ("assembly", "kinds", "plan_format", "verify")


@cache
def verifier() -> str:
    """The name of the checks; empty where the source is not there to be read, and nothing can be said of a plan."""
    from hashlib import sha256

    digest, package = sha256(), _package()
    try:
        for folder in (package, *(package / name for name in _FOLDERS)):
            files = sorted(folder.glob("*.py"))
            if not files:  # installed without its source
                return ""
            for file in files:
                content = file.read_bytes()
                # Name and length go in too, so that text that moves from one file to the next is another hash.
                digest.update(f"{file.name} {len(content)}\n".encode())
                digest.update(content)
    except OSError:
        return ""
    return digest.hexdigest()


def only_own(kinds: Collection[str]) -> bool:
    """Whether all kinds are of that package: of others `verifier` does not know whether they have changed."""
    return all((_package() / "kinds" / f"{kind}.py").is_file() for kind in kinds)


def _package() -> "Path":
    from pathlib import Path  # only large plans are sealed, and most starts are of small ones

    return Path(noetl_ir.__file__ or "").parent
