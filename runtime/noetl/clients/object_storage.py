"""Files in object storage that speaks S3: `s3://BUCKET/…`, put and fetched whole.

Where it is and who asks is in the variables of AWS, as its own programs have them: `AWS_ENDPOINT_URL`, `AWS_REGION`,
`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`; without keys, those of the machine or the pod.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from noetl.host.process_secrets import learn
from noetl.ports import StoreFailure

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEME = "s3://"
EXTRA = "object storage needs the extra: pip install 'noetlc[s3]'"

_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_TRIES, _WITHIN = 3, timedelta(seconds=30)
_PART = 8 << 20
_WORDS = re.compile(r"<Code>([^<]{1,100})</Code>\s*<Message>([^<]{1,300})</Message>")
_LONGEST = 300


def is_object(url: str) -> bool:
    """Whether a text names a place in object storage."""
    return url.startswith(SCHEME)


def put(url: str, path: str) -> None:
    """Store a file; under its name it is whole, or not there. Raises StoreFailure."""
    folder, _, name = url.rpartition("/")
    with _opened(folder, url) as store:
        from obstore import put as store_file

        store_file(store, name, Path(path), chunk_size=_PART)


def fetch(url: str, path: str) -> None:
    """Write what is stored there to a file. Raises StoreFailure; OSError of the file."""
    folder, _, name = url.rpartition("/")
    with _opened(folder, url) as store, open(path, "wb") as file:
        from obstore import get

        for part in get(store, name).stream(min_chunk_size=_PART):
            file.write(part)


def reach(url: str) -> None:
    """Ask for what is stored in a folder, which may be nothing. Raises StoreFailure."""
    with _opened(url, url) as store:
        from obstore import list as stored_in

        next(iter(stored_in(store, chunk_size=1)), None)


@contextmanager
def _opened(folder: str, url: str) -> "Iterator[ObjectStore]":
    """The store of a folder; its failures are StoreFailures."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as missing:
        raise StoreFailure(f"{EXTRA} ({missing})") from None
    # What a task prints may be an error of such a program, with what it was told.
    for name in _SECRETS:
        learn(name, [os.environ.get(name, "")])
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    try:
        yield from_url(
            folder,
            client_options={"allow_http": plain, "timeout": "60s", "connect_timeout": "10s"},
            retry_config={"max_retries": _TRIES, "retry_timeout": _WITHIN},
        )
    # Of a name or a bucket that is not there it raises FileNotFoundError, of a lack of rights PermissionError.
    except (BaseError, FileNotFoundError, PermissionError) as error:
        raise StoreFailure(f"{url}: {_words(str(error))}") from None


def _words(text: str) -> str:
    """Words of the storage, on one line; else the first line of what the library says."""
    found = _WORDS.search(text)
    return f"{found[2]} [{found[1]}]" if found else text.partition("\n")[0][:_LONGEST]
