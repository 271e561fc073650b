"""The secrets of the process itself: tokens and passwords, in variables, on the command line and in files.

They are masked wherever a playbook could show them, and wiped from what other processes of the machine see of this one.
Memory is another matter: root, and a process that may trace this one, read that all the same.
"""

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

ENTRY = "the deployment"
"""The name that stands in markers for what is the deployment's own; no entry of a keychain is called so."""
OWN = ("NOETL_", "PGPASS", "PGSSLPASS", "PGSSLKEY")
"""How the variables begin that no playbook reads, by whatever way."""

_SHORTEST = 8
_SECRET = re.compile(r"TOKEN|KEY|PASS|SECRET|NATS", re.ASCII)
_PARAMETER = re.compile(r"pass|secret|token", re.IGNORECASE)
_STAT_ARGS, _STAT_ENV = 48, 50
"""Where /proc/self/stat says where the words of the command line and the environment begin; the end is behind it."""
_PR_SET_DUMPABLE = 4
_known: dict[str, str] = {}


def secrets() -> Mapping[str, str]:
    """The known secrets, a name of where each came from by its text."""
    return _known


def is_own(variable: str) -> bool:
    """Whether a variable of the environment is the engine's own, which no playbook may read."""
    return variable.startswith(OWN)


def masked(text: str) -> str:
    """A line of a log without what is known."""
    for value, name in _known.items():
        if value in text:
            text = text.replace(value, f"[[{name}]]")
    return text


def learn_process(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Learn what the process was given, and take it from what others see of the process."""
    for name, value in environ.items():
        if name.startswith(("NOETL_", "PG")):
            _learn_variable(name, value)
    for word in words:
        _learn_url("the command line", word.partition("=")[2] if word.startswith("--") else word)
    # Wiping needs ctypes, which takes a while to import: a process without secrets does not pay for it.
    if _known:
        # It is a second wall, behind the rights of the machine. Where the system has no /proc, or not this form of
        # it, the process works without.
        with suppress(OSError, ValueError, ImportError, AttributeError):
            _wipe(environ)


def learn(name: str, texts: Iterable[str]) -> None:
    """Know these texts from now on; those of fewer than 8 characters are left alone, as with other secrets."""
    for text in texts:
        if len(text) >= _SHORTEST:
            _known.setdefault(text, name)


def learn_words(name: str, words: Iterable[str]) -> None:
    """Know the passwords of URLs among some words, as of a file of settings."""
    for word in words:
        _learn_url(name, word)


def learn_file(path: str) -> None:
    """Know the long words of a file of keys, as PEM and NATS have them; one that cannot be read has none."""
    with suppress(OSError, UnicodeError), open(path, encoding="utf-8") as file:
        for line in file.read(1 << 20).splitlines():
            word = line.strip()
            # The lines of base64 in PEM, and the JWT and seed of NATS. Shorter lines are the end of a block, and
            # headings have spaces or dashes.
            if len(word) > 30 and " " not in word and not word.startswith("-"):
                learn(os.path.basename(path), [word])


def _learn_variable(name: str, value: str) -> None:
    if "://" in value:
        for word in value.split():
            _learn_url(name, word)
    elif name.startswith("PG"):
        if name == "PGPASSFILE":
            _learn_passwords(value)
        elif name.startswith(OWN):
            learn(name, [value])
    elif _SECRET.search(name):
        # A variable that was read from a file often has a line end, and what prints it strips it.
        learn(name, [value, value.strip()])


def _learn_url(name: str, url: str) -> None:
    """The password of a URL, as it is written and as it is meant; of NATS a user that stands alone is a token."""
    if "://" not in url or url.startswith("sqlite:"):  # a file, and no login
        return
    from urllib.parse import parse_qsl, unquote, urlsplit  # not at every start

    with suppress(ValueError):
        parts = urlsplit(url)
        # At the last `@`, since a password may hold others that nobody has quoted.
        login, _, _ = parts.netloc.rpartition("@")
        user, colon, password = login.partition(":")
        found = password if colon else user if parts.scheme in ("nats", "tls", "ws", "wss") else ""
        # A driver's error has the password as it is meant, a log of the URL as it is written.
        learn(name, [found, unquote(found)])
        for key, value in parse_qsl(parts.query):
            if key == "creds":
                learn_file(value)
            elif key == "passfile":
                _learn_passwords(value)
            elif _PARAMETER.search(key):
                learn(name, [value])
        # libpq then takes the password from this file, without anybody having named it.
        if parts.scheme in ("postgresql", "postgres") and not password:
            _learn_passwords(os.path.expanduser("~/.pgpass"))


def _learn_passwords(path: str) -> None:
    """The passwords of a file as libpq reads it: the last of five fields, in which a backslash quotes."""
    with suppress(OSError, UnicodeError), open(path, encoding="utf-8") as file:
        for line in file.read(1 << 20).splitlines():
            fields = re.split(r"(?<!\\):", line, maxsplit=4)
            if len(fields) == 5:
                learn(os.path.basename(path), [re.sub(r"\\(.)", r"\1", fields[4])])


def _wipe(environ: Mapping[str, str]) -> None:
    """Overwrite the secrets where /proc reads the command line and the environment from, and keep others from tracing.

    Python has copies of both. A library in C gets a copy of the variables that it may ask for.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with open("/proc/self/stat", "rb") as file:
        # The second field is the program's name in brackets, which may hold spaces and brackets: everything is
        # counted from the last one.
        fields = file.read().rpartition(b")")[2].split()
    places = [(int(fields[at - 3]), int(fields[at - 2])) for at in (_STAT_ARGS, _STAT_ENV)]
    hidden = [os.fsencode(text) for text in _known]
    for start, end in places:
        if not 0 < start < end:
            continue
        block = ctypes.string_at(start, end - start)
        for text in hidden:
            at = block.find(text)
            # The secret may stand there more than once: in an option and in a variable.
            while at >= 0:
                ctypes.memset(start + at, ord("*"), len(text))
                at = block.find(text, at + len(text))
    for name, value in environ.items():
        if any(text in value for text in _known):
            # `os.environ` has copies that are whole. This gives the C library a new text, away from the block that
            # was overwritten.
            os.putenv(name, value)
    # Then other processes of this user can neither trace this one nor read its memory and environment in /proc.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
