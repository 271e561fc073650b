"""The document of a trigger, read and checked: what a person writes, and what stands in the store."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.server.checked_documents import BadDocument, mapping_of, micros_of, spec_of, text_of, whole_of
from noetl.server.triggers.signatures import FORMS, Signature
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

KIND = "Trigger"
WEBHOOK, AFTER, NATS = "webhook", "after", "nats"
KINDS = (WEBHOOK, AFTER, NATS)

NAMES: Mapping[str, tuple[str, ...]] = {
    WEBHOOK: ("body", "headers", "query", "trigger"),
    AFTER: ("execution_id", "playbook", "status", "result", "error", "workload", "trigger"),
    NATS: ("body", "headers", "subject", "trigger"),
}
"""What the expressions of each kind may read."""

STATUSES = ("completed", "failed", "cancelled", "blocked")
MOST_BYTES = 1 << 20
"""The most bytes of a request, or of a message, that a trigger takes."""

DEEPEST = 100
_DEPTH = 8
_TOLERANCE = 300_000_000
_SPEC = ("playbook", "version", "inputs", "when", *KINDS)
_WEBHOOK = ("signature", "secret", "field", "header", "timestamp_header", "tolerance", "key", "max_bytes")
_AFTER = ("playbook", "status", "depth")
_NATS = ("subject", "stream", "deliver", "url")


class Webhook(NamedTuple):
    """A request to `POST /hooks/NAME`.

    - `secret`: the credential that signs, and its `field`, empty for the only one.
    - `has_key`: whether an expression gives the key; else it is what the form of the signature has.
    """

    signature: Signature
    secret: str
    field: str
    has_key: bool
    max_bytes: int


class AfterEnd(NamedTuple):
    """The end of an execution that nobody called, of a playbook whose path fits a pattern, with one of some statuses.
    A chain of such starts is `depth` long at most.
    """

    playbook: str
    statuses: tuple[str, ...]
    depth: int


class NatsSubject(NamedTuple):
    """A message on a subject; `stream` is the stream that has it, empty: the one that does. `deliver` says whether what
    is there already counts: `new` or `all`. `url` is the server, empty: that of the bus.
    """

    subject: str
    stream: str
    deliver: str
    url: str


TriggerCause: TypeAlias = Webhook | AfterEnd | NatsSubject


class StandingTrigger(NamedTuple):
    """A trigger: what is started, `inputs` with templates in them, and the cause. `values` are all values with
    templates, by their names.
    """

    name: str
    kind: str
    playbook: str
    version: int | None
    inputs: dict[str, Json]
    cause: TriggerCause
    values: dict[str, Json]


def trigger_of(document: Json) -> StandingTrigger:
    """The trigger that a document is. Raises BadDocument."""
    name, spec = spec_of(document, KIND, _SPEC)
    playbook = text_of(spec, ("spec", "playbook"), "the path of a playbook, as in `etl/nightly`")
    if not playbook:
        raise BadDocument("`spec.playbook` is missing: write the path of a playbook, as in `etl/nightly`", ("spec",))
    kinds = [kind for kind in KINDS if kind in spec]
    if len(kinds) != 1:
        raise BadDocument(
            f"`spec` has one of {', '.join(f'`{kind}`' for kind in KINDS)}", ("spec", kinds[1]) if kinds else ("spec",)
        )
    inputs = spec.get("inputs", {})
    if not isinstance(inputs, dict):
        raise BadDocument("`spec.inputs` is a mapping of names to values", ("spec", "inputs"))
    values: dict[str, Json] = {"inputs": inputs}
    if "when" in spec:
        values["when"] = _template(spec, ("spec", "when"), "{{ body.ref == 'main' }}")
    (kind,) = kinds
    cause = _CAUSES[kind](spec[kind], values)
    version = whole_of(spec, ("spec", "version"), 1, (1 << 31) - 1, None)
    return StandingTrigger(name, kind, playbook, version, inputs, cause, values)


def _template(mapping: Mapping[str, Json], path: tuple[str, ...], example: str) -> Json:
    """A text that is one expression. Raises BadDocument."""
    value = mapping[path[-1]]
    if not isinstance(value, str) or not value.strip().startswith("{{") or not value.strip().endswith("}}"):
        raise BadDocument(f"`{'.'.join(path)}` is an expression, as in `{example}`", path)
    return value


def _webhook(value: Json, values: dict[str, Json]) -> Webhook:
    at = ("spec", WEBHOOK)
    told = mapping_of(value, at, "`spec.webhook`", _WEBHOOK)
    form = told.get("signature")
    if not isinstance(form, str) or form not in FORMS:
        raise BadDocument(f"`spec.webhook.signature` is one of {', '.join(FORMS)}", (*at, "signature"))
    secret = text_of(told, (*at, "secret"), "the name of a credential")
    if not secret:
        raise BadDocument("`spec.webhook.secret` is missing: write the name of a credential", at)
    if "key" in told:
        values["key"] = _template(told, (*at, "key"), "{{ body.id }}")
    tolerance = micros_of(told, (*at, "tolerance")) if "tolerance" in told else _TOLERANCE
    header = text_of(told, (*at, "header"), "the name of a header")
    stamp = text_of(told, (*at, "timestamp_header"), "the name of a header")
    own = FORMS[form]
    for key, text, allowed in (("header", header, own.takes_header), ("timestamp_header", stamp, own.takes_stamp)):
        if text and not allowed:
            raise BadDocument(f"`spec.webhook.{key}` does not go with `signature: {form}`", (*at, key))
    if "tolerance" in told and not (own.has_time or stamp):
        raise BadDocument(
            f"`spec.webhook.tolerance` needs a time that is signed, which `{form}` has none of", (*at, "tolerance")
        )
    field = text_of(told, (*at, "field"), "the name of a field of that credential")
    most = whole_of(told, (*at, "max_bytes"), 1, MOST_BYTES, MOST_BYTES) or MOST_BYTES
    signature = Signature(form, (header or own.header).lower(), stamp.lower(), tolerance)
    return Webhook(signature, secret, field, "key" in told, most)


def _after(value: Json, _: dict[str, Json]) -> AfterEnd:
    at = ("spec", AFTER)
    told = mapping_of(value, at, "`spec.after`", _AFTER)
    playbook = text_of(told, (*at, "playbook"), "the path of a playbook, or a pattern as `etl/*`")
    if not playbook:
        raise BadDocument("`spec.after.playbook` is missing: write a path, or a pattern as `etl/*`", at)
    asked = told.get("status", ["completed"])
    statuses = asked if isinstance(asked, list) else [asked]
    if not statuses or not all(isinstance(status, str) and status in STATUSES for status in statuses):
        raise BadDocument(f"`spec.after.status` is one or some of {', '.join(STATUSES)}", (*at, "status"))
    depth = whole_of(told, (*at, "depth"), 1, DEEPEST, _DEPTH) or _DEPTH
    return AfterEnd(playbook, tuple(map(str, statuses)), depth)


def _nats(value: Json, _: dict[str, Json]) -> NatsSubject:
    at = ("spec", NATS)
    told = mapping_of(value, at, "`spec.nats`", _NATS)
    subject = text_of(told, (*at, "subject"), "a subject, as in `orders.*`")
    parts = subject.split(".")
    if not subject or not all(parts) or any(c.isspace() for c in subject) or ">" in parts[:-1]:
        raise BadDocument("`spec.nats.subject` is a subject, as in `orders.new`, `orders.*` or `orders.>`", at)
    deliver = told.get("deliver", "new")
    if deliver not in ("new", "all") or not isinstance(deliver, str):
        raise BadDocument("`spec.nats.deliver` is one of new, all", (*at, "deliver"))
    url = text_of(told, (*at, "url"), "a server, as in `nats://HOST:PORT`")
    if url and (not url.startswith(("nats://", "tls://")) or "@" in url or "?" in url):
        # A document is shown to whoever may look.
        raise BadDocument("`spec.nats.url` is `nats://HOST:PORT` or `tls://HOST:PORT`, without a login", (*at, "url"))
    return NatsSubject(subject, text_of(told, (*at, "stream"), "the name of a stream"), deliver, url)


_CAUSES: dict[str, Callable[[Json, dict[str, Json]], TriggerCause]] = {WEBHOOK: _webhook, AFTER: _after, NATS: _nats}
