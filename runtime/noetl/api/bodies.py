"""Bodies of requests, checked before anything looks at them, and the schemas of responses."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from starlette.requests import Request

from noetl.api.problems import BadRequest
from noetl.app.query_language import LONGEST as LONGEST_QUERY
from noetl.clients.content import json_of
from noetl.ports.queries import faulty_labels
from noetl.ports.user_sessions import LIFETIME, LONGEST
from noetl_ir import codec
from noetl_ir.correlation import LONGEST as LONGEST_KEY
from noetl_ir.kinds import seconds_of
from noetl_ir.nearest import nearest

BODY_BYTES = 1 << 20
SOURCE_BYTES = 32 << 20
BLOB_BYTES = 256 << 20
"""The most bytes of a JSON body, of a playbook or plan, and of a value from a worker."""

LAST_VERSION = (1 << 31) - 1
"""The highest version that a playbook can have: what stores count in."""

MOST_ASKED = 1_000
"""The most executions that one request asks something of."""

_Name = Annotated[str, Field(min_length=1, max_length=512)]
ShownStatus = Literal["running", "paused", "blocked", "failed", "cancelled", "completed"]


class Body(BaseModel):
    """A request's body: an unknown key is a mistake."""

    # A misspelt `payload` that is ignored starts a run with the wrong values. `strict` keeps "1" from counting as 1,
    # which it is not in a playbook.
    model_config = ConfigDict(extra="forbid", strict=True)


class PlanBody(Body):
    """A plan, by its id or by a path of the catalogue."""

    playbook_id: _Name | None = Field(None, description="The digest of a plan, as registering it answered.")
    path: _Name | None = Field(None, description="A path of the catalogue.")
    version: int | None = Field(
        None, ge=1, le=LAST_VERSION, description="The version of that path; the newest when absent."
    )

    @model_validator(mode="after")
    def _one(self) -> "PlanBody":
        if (self.playbook_id is None) == (self.path is None):
            raise ValueError("give either `playbook_id` or `path`")
        if self.version is not None and self.path is None:
            raise ValueError("`version` goes with `path`")
        return self


class StartBody(PlanBody):
    """Start an execution, by the id of a plan or by a path of the catalogue."""

    payload: dict[str, JsonValue] = Field(default_factory=dict, description="Values that replace the workload's.")
    strict_inputs: bool = Field(False, description="Refuse names that are no keys of `workload`.")
    labels: dict[str, str] = Field(default_factory=dict, description="Texts by name, to find the execution by.")
    traceparent: str = Field("", max_length=512, description="What the header of that name says, where it is not sent.")

    @field_validator("labels")
    @classmethod
    def _kept(cls, labels: dict[str, str]) -> dict[str, str]:
        if why := faulty_labels(labels):
            raise ValueError(why)
        return labels


class MigrationBody(PlanBody):
    """Have an execution that is not over go on under another plan, by its id or by a path of the catalogue."""

    dry_run: bool = Field(False, description="Only say whether it could, and what hinders.")


class RerunBody(Body):
    """Begin again where an execution failed, on its own plan or on another one, by id or by a path of the catalogue."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    from_step: Annotated[str, Field(max_length=512)] = Field(
        "", alias="from", description="`STEP` or `STEP:N`: before its first, or N-th, run; else where it failed."
    )
    payload: dict[str, JsonValue] = Field(
        default_factory=dict, description="Values over those that it was started with."
    )
    playbook_id: _Name | None = Field(None, description="The digest of another plan.")
    path: _Name | None = Field(None, description="A path of the catalogue.")
    version: int | None = Field(
        None, ge=1, le=LAST_VERSION, description="The version of that path; absent: the newest."
    )
    linear: bool = Field(False, description="Keep only what was over before that run began.")
    accept: list[Literal["phases", "execution_id", "signals"]] = Field(
        default_factory=list, description="Hindrances that are known to do no harm."
    )
    dry_run: bool = Field(False, description="Only say what is kept, what runs again, and what hinders.")

    @model_validator(mode="after")
    def _one(self) -> "RerunBody":
        if self.playbook_id is not None and self.path is not None:
            raise ValueError("give either `playbook_id` or `path`")
        if self.version is not None and self.path is None:
            raise ValueError("`version` goes with `path`")
        return self


class SignalBody(Body):
    """A named signal for `wait` tasks."""

    name: Annotated[str, Field(min_length=1, max_length=512)]
    data: JsonValue = None
    anyway: bool = Field(True, description="False refuses a name that nothing in the playbook waits for.")


class FilterBody(Body):
    """Executions that are not over and fit all that is said here, as a list shows them."""

    status: ShownStatus | None = None
    text: Annotated[str, Field(max_length=512)] = Field("", description="In the path, or at the beginning of the id.")
    top: bool = Field(False, description="Only those that no other one called.")
    parent: Annotated[str, Field(max_length=512)] = Field("", description="The id of the one that called them.")


class ManyBody(Body):
    """A request to many executions: those that are named, or those that fit a query or a filter, which is a short form
    of one, so many at once.
    """

    ids: Annotated[list[_Name], Field(min_length=1, max_length=MOST_ASKED)] | None = None
    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)] | None = None
    filter: FilterBody | None = None
    before: Annotated[str, Field(max_length=512)] = Field(
        "", description="Instead of `ids`: `next` of the last response."
    )
    limit: int = Field(100, ge=1, le=MOST_ASKED, description="Instead of `ids`: how many executions at most.")
    dry_run: bool = Field(False, description="Only say which executions would be asked, and which would refuse.")

    @model_validator(mode="after")
    def _one_choice(self) -> "ManyBody":
        if (self.ids is None) == (self.filter is None and self.query is None):
            raise ValueError("give either `ids` or `query` or `filter`")
        if self.before and self.ids is not None:
            raise ValueError("`before` goes with `query` and `filter`")
        return self


class ManySignalBody(ManyBody, SignalBody):
    """A named signal to many executions."""


class ManyRerunBody(ManyBody):
    """Reruns of many executions, each on its own plan, or on the newest version of its path."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)

    from_step: Annotated[str, Field(max_length=512)] = Field(
        "", alias="from", description="`STEP` or `STEP:N`: before its first, or N-th, run; else where it failed."
    )
    payload: dict[str, JsonValue] = Field(default_factory=dict, description="Values over those of the start.")
    newest: bool = Field(False, description="On the newest version of its path.")
    linear: bool = Field(False, description="Keep only what was over before that run began.")
    accept: list[Literal["phases", "execution_id", "signals"]] = Field(
        default_factory=list, description="Hindrances that are known to do no harm."
    )


class LetterBody(Body):
    """A named signal for whoever waits under a key."""

    key: Annotated[str, Field(min_length=1, max_length=LONGEST_KEY, description="The `correlation` of a `wait`.")]
    name: Annotated[str, Field(min_length=1, max_length=512)]
    data: JsonValue = None
    keep_for: float | str | None = Field(
        None, description="How long it is kept where nobody waits: seconds, or text like `2d`; 7d when absent."
    )

    # Before the types are looked at, so that one message is given and not one for each of them.
    @field_validator("keep_for", mode="before")
    @classmethod
    def _lasts(cls, value: JsonValue) -> JsonValue:
        if value is not None and seconds_of(value) is None:
            raise ValueError("write seconds, or text like `5m` or `2d`")
        return value


Roles = Annotated[list[Annotated[str, Field(max_length=128)]], Field(max_length=100)]


class SessionBody(Body):
    """A session of a user, who has shown elsewhere who they are (case-dialect §6.3)."""

    user_id: Annotated[str, Field(min_length=1, max_length=512)] | Annotated[int, Field(ge=0, lt=1 << 53)]
    email: Annotated[str, Field(max_length=320)] | None = None
    display_name: Annotated[str, Field(max_length=512)] | None = None
    roles: Roles = Field(default_factory=list)
    client_ip: Annotated[str, Field(max_length=64)] | None = None
    auth0_id: Annotated[str, Field(max_length=512)] | None = None
    ttl_seconds: int = Field(LIFETIME, ge=1, le=LONGEST, description="How long it lasts without activity.")


class SessionTokenBody(Body):
    """The token of a session."""

    token: Annotated[str, Field(min_length=1, max_length=512)]


class ActivityBody(SessionTokenBody):
    """Activity in a session: the revision that was read, and what changes, if anything does."""

    revision: int = Field(ge=1, lt=1 << 53)
    email: Annotated[str, Field(max_length=320)] | None = None
    display_name: Annotated[str, Field(max_length=512)] | None = None
    roles: Roles = Field(default_factory=list)
    client_ip: Annotated[str, Field(max_length=64)] | None = None
    auth0_id: Annotated[str, Field(max_length=512)] | None = None


class SignInBody(Body):
    """A bearer token of this API, to sign the page in."""

    token: Annotated[str, Field(min_length=1, max_length=512)]


class BlobBody(Body):
    """The reference of a value that is kept outside of the log, as an event holds it."""

    reference: dict[str, JsonValue]


_B = TypeVar("_B", bound=Body)


async def raw_body(request: Request, most: int) -> bytes:
    """The body, read as far as it may be long, and not at all where it says that it is longer. Raises BadRequest."""
    parts, size = [], 0
    too_long = BadRequest(f"the body has more than {most:,} bytes", 413)
    stated = request.headers.get("content-length", "")
    # The header is only believed where it refuses: what it does not say, or says too low, is counted below. The cut
    # keeps a header of a thousand digits from being read as a number.
    if stated.isascii() and stated.isdigit() and int(stated[:20]) > most:
        raise too_long
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise too_long
        parts.append(part)
    return b"".join(parts)


async def body_of(request: Request, model: type[_B]) -> _B:
    """The JSON body of a request as a model. Raises BadRequest."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page of another site cannot send this type without the browser's asking first (CORS), so it is asked for and
    # not guessed.
    if kind != "application/json":
        raise BadRequest("the body has to be JSON, with `Content-Type: application/json`", 415)
    data = await raw_body(request, BODY_BYTES)
    try:
        value = request.state.body = json_of(data)  # of one that is refused, the audit tells what it is about
        # A value that the log could not hold, too deep or with a number beyond its range, is refused here and not in
        # the middle of a run.
        codec.check(value)
    except (ValueError, codec.CodecError) as error:
        raise BadRequest(f"the body is no JSON: {error}") from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadRequest(_told(error, model)) from None


def _told(error: ValidationError, model: type[BaseModel]) -> str:
    """The faults of a body, each with where it stands."""
    found = []
    # The input is left out: it may hold a password, and responses end up in logs of clients.
    for one in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        place = ".".join(map(str, one["loc"]))
        text = one["msg"].removeprefix("Value error, ")
        if one["type"] == "model_type":
            text = f"{'it' if place else 'the body'} has to be a mapping"  # pydantic names the class
        elif one["type"] == "extra_forbidden":
            # pydantic's words, "extra inputs are not permitted", name neither the slip nor what was meant.
            there = _model_at(model, one["loc"][:-1])
            near = nearest(str(one["loc"][-1]), there.model_fields)
            known = ", ".join(there.model_fields)
            text = f"there is no such key{f'; did you mean `{near}`?' if near else ''} (the keys are {known})"
        found.append(f"`{place}`: {text}" if place else text)
    return "; ".join(found)


def _model_at(model: type[BaseModel], place: Sequence[int | str]) -> type[BaseModel]:
    """The model of what stands at a place in a body: one of a list has keys of its own."""
    for name in place:
        if isinstance(name, str):
            kinds = model.model_fields[name].annotation, *get_args(model.model_fields[name].annotation)
            model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), model)
    return model


def number_of(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query. Raises BadRequest."""
    return natural(name, request.query_params.get(name, str(default)), least, most)


def natural(name: str, text: str, least: int, most: int) -> int:
    """A whole number between bounds. Raises BadRequest."""
    # `int` alone takes spaces, signs, `1_000` and digits of every script; and reading a very long number takes a
    # while.
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise BadRequest(f"`{name}` is a whole number from {least} to {most}")
    return int(text)
