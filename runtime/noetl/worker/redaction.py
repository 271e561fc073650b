"""Hides known secrets in what is recorded and puts them back into task fields (LANGUAGE §7, last bullet).

Where a known secret of 8 characters or more occurs in an outcome, as it is or in one of the forms that programs write
texts in (`secret_forms`), a marker stands for it: `[[secret:<entry>:<field>:<form>:<code>]]`. The code authenticates
the rest with a key of the execution, so that text from outside that looks like a marker is text, and stays. Its second
half is by a key that all executions share: a marker of another one, which nobody here can open, is known and refused,
and no tool takes it for a value; nor one that a server made which has no key of the workers'. The form says how the
secret was written there, so that putting it back gives the very text that was hidden.

Nothing else is ever hidden: no value is touched because of its key or because it looks like a secret.
"""

import copy
import hmac
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from noetl.worker.secret_forms import forms_of, forms_of_all
from noetl.worker.texts import collect_texts, has_markers
from noetl_ir.expr import Json
from noetl_ir.outcome import HANDLE_KEY, Handle
from noetl_ir.scopes.values import Fault

Secret: TypeAlias = tuple[str, str, str]
"""(entry, field, value)."""
_Open: TypeAlias = Callable[[str, str], Json]
"""The value of a field of an entry as it is now; raises KeyError with a clear text."""

_MARKER = re.compile(r"\[\[secret:([\w.%~-]+):([\w.%~-]+):([a-z0-9]+):([0-9a-f]{32})\]\]", re.ASCII)

_HALF = 16
"""Characters of each half of a code."""


class Redactor:
    """The secrets of one execution. `key` is the execution's own, and `shared` that of all executions."""

    def __init__(self, key: bytes, open: _Open, shared: bytes = b"") -> None:
        self._key = key
        self._shared = shared
        self._open = open
        self._known: set[Secret] = set()
        self._hidden: set[tuple[str, str]] = set()
        self._markers: dict[str, str] = {}

    def opened_by(self, open: _Open) -> "Redactor":
        """A redactor of the same secrets, whose markers are opened by somebody else."""
        # A shallow copy shares the known secrets: what one of the two learns, the other hides too.
        made = copy.copy(self)
        made._open = open
        return made

    def learn(self, secrets: Iterable[Secret]) -> None:
        """Know these secrets from now on; values under 8 characters are left alone."""
        for secret in secrets:
            if secret not in self._known:
                self._known.add(secret)
                entry, field, value = secret
                self._hidden.add((entry, field))
                for form, text in forms_of(value).items():
                    # Two entries may hold one secret. The first one's marker stays, so that a value is recorded alike
                    # before and after the second is learnt.
                    self._markers.setdefault(text, self.marker(entry, field, form))

    def redact(self, value: Json) -> Json:
        """The value with a marker for every known secret, in keys too, and with handles sealed.

        The very same object where there is nothing to hide.
        """
        texts: list[str] = []
        sealed = collect_texts(value, texts)
        # The zero byte keeps the end of one text and the start of the next from making a secret together.
        whole = "\0".join(texts)
        # One search of the joined text for each form is far quicker than one for each text. The longest goes first,
        # else a secret that is part of another one would be hidden in its middle and leave the rest to be read.
        found = sorted((text for text in self._markers if text in whole), key=len, reverse=True)
        if not found and not sealed:
            return value
        pattern = re.compile("|".join(map(re.escape, found))) if found else None
        markers = self._markers

        def hidden(text: str) -> str:
            return pattern.sub(lambda hit: markers[hit[0]], text) if pattern is not None else text

        return _mapped(value, hidden, self._seal)

    def redact_text(self, text: str) -> str:
        """The redacted form of one text, for logs."""
        return str(self.redact(text))

    def finished(self, text: str) -> int:
        """`finished_length` for the known secrets."""
        return finished_length(text, self._markers)

    def restore(self, value: Json, *, carries: bool = False) -> Json:
        """The value with the secret for every marker of ours; the marker of a handle's field becomes the field.

        Who only `carries` the value on keeps the markers of other executions in it. Raises Fault `credential.missing`
        when the secret is not to be had any more, or is one of another execution.
        """
        if not has_markers(value):
            return value
        return _mapped(value, lambda text: self._shown(text, carries), lambda handle: handle)

    def moved(self, value: Json, to: "Redactor") -> Json:
        """The value with markers of another execution for those of this one; all other texts stay."""
        if not has_markers(value):
            return value
        from urllib.parse import unquote

        def other(hit: re.Match[str]) -> str:
            own = self._code(f"{hit[1]}:{hit[2]}:{hit[3]}")
            return to.marker(unquote(hit[1]), unquote(hit[2]), hit[3]) if hmac.compare_digest(own, hit[4]) else hit[0]

        return _mapped(value, lambda text: _MARKER.sub(other, text), lambda handle: handle)

    def marker(self, entry: str, field: str, form: str) -> str:
        """The marker of a secret in a form."""
        name = f"{_quoted(entry)}:{_quoted(field)}:{form}"
        return f"[[secret:{name}:{self._code(name)}]]"

    def _code(self, name: str) -> str:
        own = self._own_code(name)[:_HALF]
        return own + self._shared_code(name, own)

    def _own_code(self, name: str) -> str:
        return hmac.digest(self._key, name.encode("ascii"), "sha256").hex()[: 2 * _HALF]

    def _shared_code(self, name: str, own: str) -> str:
        return _half_by(self._shared, name, own)

    def _seal(self, handle: Handle) -> dict[str, Json]:
        entry = str(handle[HANDLE_KEY])
        fields = (field for field in handle if field != HANDLE_KEY)
        return {HANDLE_KEY: entry, **{field: self.marker(entry, field, "value") for field in fields}}

    def _shown(self, text: str, carries: bool) -> Json:
        alone = _MARKER.fullmatch(text)
        # A marker that is the whole text may stand for a value of any type, such as a handle's number; inside of
        # other text it can only be text.
        if alone is not None and alone[3] == "value" and self._is_ours(alone, carries):
            return self._opened(alone)
        return _MARKER.sub(lambda hit: self._text(hit) if self._is_ours(hit, carries) else hit[0], text)

    def _is_ours(self, hit: re.Match[str], carries: bool) -> bool:
        """Whether a marker is one of this execution. Raises Fault for one of another that is to be used."""
        # Text from outside may hold a marker. Without the code, an answer that says `[[secret:db:password:…]]` would
        # have the password put into the next request.
        name = f"{hit[1]}:{hit[2]}:{hit[3]}"
        own, shared = hit[4][:_HALF], hit[4][_HALF:]
        if not hmac.compare_digest(self._shared_code(name, own), shared):
            if not carries and hmac.compare_digest(_code_of_servers(name, own), shared):
                raise Fault(
                    "credential.missing",
                    f"[[secret:{hit[1]}:{hit[2]}]] stands for what a server was given for itself: no task may use it",
                )
            # Until markers had a second half, all of the code was by the execution's key.
            return hmac.compare_digest(self._own_code(name), hit[4])
        is_own = hmac.compare_digest(self._own_code(name)[:_HALF], own)
        if is_own or carries:
            return is_own
        from urllib.parse import unquote

        entry, field = unquote(hit[1]), unquote(hit[2])
        raise Fault(
            "credential.missing",
            f"[[secret:{hit[1]}:{hit[2]}]] stands for a secret of another execution, and only that one can use it:"
            f" declare {entry!r} in `keychain` of this playbook, and write `{{{{ keychain.{entry}.{field} }}}}`",
        )

    def _opened(self, hit: re.Match[str]) -> Json:
        from urllib.parse import unquote

        entry, field = unquote(hit[1]), unquote(hit[2])
        try:
            value = self._open(entry, field)
        except KeyError as problem:
            raise Fault("credential.missing", str(problem.args[0] if problem.args else problem)) from None
        if isinstance(value, str) and (entry, field) in self._hidden:
            self.learn([(entry, field, value)])  # it may have been replaced since it was learnt
        return value

    def _text(self, hit: re.Match[str]) -> str:
        value = self._opened(hit)
        if hit[3] == "value" or not isinstance(value, str):
            return value if isinstance(value, str) else str(value)
        return forms_of(value).get(hit[3], value)


def _code_of_servers(name: str, own: str) -> str:
    """The second half of a marker that a server with a bus makes: it has no key of the workers'."""
    # Anybody can make this half. Who does has the tasks refused that would use the text, and gets nothing by it.
    return _half_by(b"", name, own)


def _half_by(key: bytes, name: str, own: str) -> str:
    return hmac.digest(key, f"{name}:{own}".encode("ascii"), "sha256").hex()[:_HALF]


def forms_in(value: Json, secrets: tuple[str, ...]) -> bool:
    """Whether one of some secrets occurs in a value, in any form."""
    texts: list[str] = []
    collect_texts(value, texts)
    whole = "\0".join(texts)
    return any(form in whole for form in forms_of_all(secrets))


def finished_length(text: str, forms: Iterable[str]) -> int:
    """How much of a text that goes on can be redacted now: no form begins in it that may end behind it."""
    begun = sorted(start for form in forms for start in _begun(text, form))
    if not begun:
        return len(text)
    there = sorted((form for form in forms if form in text), key=len, reverse=True)
    whole = [hit.span() for hit in re.finditer("|".join(map(re.escape, there)), text)] if there else []
    # Where a form begins inside of one that is whole, the whole one is hidden, and not to be cut.
    return next((at for at in begun if not any(start < at < end for start, end in whole)), len(text))


def _begun(text: str, form: str) -> Iterator[int]:
    """Where the end of a text is the beginning of a form, and not all of it."""
    at = text.find(form[0], max(0, len(text) - len(form) + 1))
    while at >= 0:
        if form.startswith(text[at:]):
            yield at
        at = text.find(form[0], at + 1)


def own_finished(text: str, secrets: tuple[str, ...]) -> int:
    """`finished_length` for some secrets."""
    return finished_length(text, forms_of_all(secrets))


def with_markers_as(value: Json, text_of: Callable[[str, str, str], str]) -> Json:
    """The value with another text for every marker, by entry, field and form."""
    from urllib.parse import unquote

    def other(hit: re.Match[str]) -> str:
        return text_of(unquote(hit[1]), unquote(hit[2]), hit[3])

    return _mapped(value, lambda text: _MARKER.sub(other, text), lambda handle: handle)


def without_codes(value: Json) -> Json:
    """The value with every marker as `[[secret:<entry>:<field>]]`, and its form where it is not the secret as it is.
    For people, since no such marker can be put back.
    """

    def shown(hit: re.Match[str]) -> str:
        return f"[[secret:{hit[1]}:{hit[2]}{'' if hit[3] in ('plain', 'value') else f':{hit[3]}'}]]"

    return _mapped(value, lambda text: _MARKER.sub(shown, text), lambda handle: handle)


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="") if name else "%"


def _mapped(value: Json, change: Callable[[str], Json], seal: Callable[[Handle], dict[str, Json]]) -> Json:
    """The value with every text changed, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(entry, change, seal) for entry in value]
    if isinstance(value, Handle):
        return seal(value)
    if isinstance(value, dict):
        return {str(change(key)): _mapped(entry, change, seal) for key, entry in value.items()}
    return value
