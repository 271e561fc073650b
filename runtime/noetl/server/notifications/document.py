"""The document of a notification, read and checked: what a person writes, and what stands in the store."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from noetl.server.checked_documents import SECOND, BadDocument, mapping_of, micros_of, spec_of, text_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

KIND = "Notification"
COMPLETED, LATE, RECOVERED = "completed", "late", "recovered"
FAILING = ("failed", "blocked")
"""The statuses after which a playbook fails, until it completes again."""

EVENTS = ("failed", "blocked", "cancelled", COMPLETED, LATE, RECOVERED)
WAYS = ("webhook", "slack", "mail")
_SPEC = ("on", "playbooks", "codes", "late_after", "quiet", "page", "to")
_KEYS = {"webhook": ("url", "credential"), "slack": ("url", "credential"), "mail": ("to", "credential", "subject")}
# Without what stands around and between addresses in the header of a mail (RFC 5322 §3.2.3, `specials`).
_ADDRESS = re.compile(r'[^\s()<>\[\]:;@\\,"]+@[^\s()<>\[\]:;@\\,"]+')
MOST_PATTERNS, LONGEST_PATTERN = 100, 512


class Recipient(NamedTuple):
    """Where a notification goes: `way` is one of `WAYS`; `url` and `credential` are empty where they are not said;
    `recipients` and `subject` are those of a mail.
    """

    way: str
    url: str = ""
    credential: str = ""
    recipients: tuple[str, ...] = ()
    subject: str = ""


class Notification(NamedTuple):
    """A notification.

    - `events`: of which ends, of `EVENTS`; `playbooks` and `codes`: patterns, empty for all.
    - `late_after`: how long an execution may take before it is late (microseconds), 0 for ever.
    - `quiet`: how long the same failure of a playbook is told once (microseconds).
    - `page`: the address of the page, for links; empty for none.
    """

    name: str
    events: frozenset[str]
    playbooks: tuple[str, ...]
    codes: tuple[str, ...]
    late_after: int
    quiet: int
    page: str
    address: Recipient

    def is_about(self, playbook: str) -> bool:
        """Whether it is about a playbook."""
        return not self.playbooks or any(fnmatchcase(playbook, pattern) for pattern in self.playbooks)

    def is_of(self, code: str) -> bool:
        """Whether it is about failures of a code."""
        return not self.codes or any(fnmatchcase(code, pattern) for pattern in self.codes)


_Path: TypeAlias = "tuple[str, ...]"


def notification_of(document: Json) -> Notification:
    """The notification that a document is. Raises BadDocument."""
    name, spec = spec_of(document, KIND, _SPEC)
    events = _texts(spec, ("spec", "on"))
    if not events:
        raise BadDocument(f"`spec.on` is a list of {', '.join(EVENTS)}", ("spec", "on") if "on" in spec else ("spec",))
    for event in events:
        if event not in EVENTS:
            raise BadDocument(f"`spec.on` has no `{event}`: it is a list of {', '.join(EVENTS)}", ("spec", "on"))
    late_after = micros_of(spec, ("spec", "late_after"), SECOND)
    if (LATE in events) != bool(late_after):
        raise BadDocument(
            "`late` in `spec.on` goes with `spec.late_after`, as in `late_after: 2h`: give both",
            ("spec", "on") if LATE in events else ("spec", "late_after"),
        )
    page = text_of(spec, ("spec", "page"), "the address of the page, as in `https://noetl.example.org/`")
    if page and not page.startswith(("http://", "https://")):
        raise BadDocument("`spec.page` is an address, as in `https://noetl.example.org/`", ("spec", "page"))
    return Notification(
        name, frozenset(events), _texts(spec, ("spec", "playbooks")), _texts(spec, ("spec", "codes")), late_after,
        micros_of(spec, ("spec", "quiet")), page.rstrip("/"), _address(spec),
    )  # fmt: skip


def _address(spec: Mapping[str, Json]) -> Recipient:
    path: _Path = ("spec", "to")
    whole = mapping_of(spec.get("to"), path if "to" in spec else ("spec",), "`spec.to`", WAYS)
    if len(whole) != 1:
        raise BadDocument(f"`spec.to` has one of {', '.join(WAYS)}", path)
    ((way, said),) = whole.items()
    inner = mapping_of(said, (*path, way), f"`spec.to.{way}`", _KEYS[way])
    url = text_of(inner, (*path, way, "url"), "an address, as in `https://hooks.example.org/noetl`")
    credential = text_of(inner, (*path, way, "credential"), "the name of a credential")
    if url and not url.startswith(("http://", "https://")):
        raise BadDocument(f"`spec.to.{way}.url` begins with https:// or http://", (*path, way, "url"))
    if way == "mail":
        recipients = _texts(inner, (*path, way, "to"))
        for one in recipients:
            if not _ADDRESS.fullmatch(one) or not one.isprintable():
                raise BadDocument(f"`spec.to.mail.to`: `{one}` is no address of mail", (*path, way, "to"))
        if not recipients or not credential:
            raise BadDocument("`spec.to.mail` has `to`, a list of addresses, and `credential`", (*path, way))
        subject = text_of(inner, (*path, way, "subject"), "a text")
        if not subject.isprintable():
            raise BadDocument("`spec.to.mail.subject` is a text of one line", (*path, way, "subject"))
        return Recipient(way, "", credential, recipients, subject)
    if not url and not credential:
        raise BadDocument(f"`spec.to.{way}` has `url`, or a `credential` with a field `url`", (*path, way))
    return Recipient(way, url, credential)


def _texts(spec: Mapping[str, Json], path: _Path) -> tuple[str, ...]:
    """The list of texts at the last key of a path, empty where it is absent. Raises BadDocument."""
    value = spec.get(path[-1], [])
    found: Sequence[Json] = value if isinstance(value, list) else ()
    texts = [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST_PATTERN]
    if not isinstance(value, list) or len(texts) != len(found) or len(found) > MOST_PATTERNS:
        raise BadDocument(f"`{'.'.join(path)}` is a list of at most {MOST_PATTERNS} texts", path)
    return tuple(texts)
