"""The book of triggers: how they are kept, changed and told of, by the API and beside a store alike."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from noetl.app.named_credentials import lacking_secret
from noetl.app.runtime import Runtime
from noetl.app.standing_book import StandingBook, check_name
from noetl.app.start_checks import StartSlip, start_slips
from noetl.clients.compiler import CompileError, mapping_of
from noetl.ports import Clock
from noetl.ports.scopes import is_pattern_within, is_within
from noetl.ports.triggers import Triggered, TriggerLetter, TriggerRow, Triggers
from noetl.server.checked_documents import BadDocument
from noetl.server.triggers.document import NAMES, WEBHOOK, AfterEnd, NatsSubject, StandingTrigger, Webhook, trigger_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json

LETTERS = 20
"""Dead letters that are told of a trigger."""

_PATHS = {"key": ("spec", WEBHOOK, "key")}
"""Where the values with templates stand in a document, but for those that stand at the top of `spec`."""


class TriggerBook(StandingBook[TriggerRow]):
    """The triggers of a store. One that is paused starts nothing, and goes on with what happens from then on."""

    noun = "trigger"

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._runtime = runtime
        self._clock = clock

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a trigger; one of its name is replaced. `warnings` are slips that the start would be refused for. Raises
        BadDocument, also where it has another name than the one that was asked for.
        """
        trigger = trigger_of(document)
        check_name(trigger.name, name)
        there = next(iter(self._kept.rows(trigger.name)), None)
        row = TriggerRow(trigger.name, trigger.kind, document, _templates_of(trigger), began=self._clock.now())
        if there is not None:
            row = row._replace(last=there.last, paused=there.paused)
        self._kept.put(row)
        return {**self._told(row), "warnings": [slip.document() for slip in self._slips(trigger)]}

    def document(self, name: str) -> dict[str, Json]:
        """A trigger, with the oldest of what it could not start."""
        row = self.row(name)
        letters = self._kept.dead_letters(name, 0, LETTERS)
        return {**self._told(row), "dead_letters": [_letter_document(letter) for letter in letters]}

    def letters(self, name: str) -> Iterator[TriggerLetter]:
        """The dead letters of a trigger, the oldest first."""
        self.row(name)
        after = 0
        while found := self._kept.dead_letters(name, after, LETTERS):
            yield from found
            after = found[-1].number

    def drop(self, letter: TriggerLetter) -> None:
        """Keep a dead letter no more."""
        self._kept.remove_letter(letter.number)

    @property
    def _kept(self) -> Triggers:
        store = self._runtime.store
        assert isinstance(store, Triggered), "every store that is written to has triggers"
        return store.triggering

    def _is_about(self, document: dict[str, Json], paths: Sequence[str]) -> bool:
        trigger = trigger_of(document)
        # An end tells the result of what ended, and a subject of the bus may be anybody's.
        match trigger.cause:
            case AfterEnd(playbook=pattern):
                return is_within(trigger.playbook, paths) and is_pattern_within(pattern, paths)
            case NatsSubject():
                return False
        return is_within(trigger.playbook, paths)

    def _paused(self, row: TriggerRow, *, paused: bool) -> TriggerRow:
        return row._replace(paused=paused)

    def _told(self, row: TriggerRow) -> dict[str, Json]:
        told: dict[str, Json] = {
            "name": row.name,
            "kind": row.kind,
            "paused": row.paused,
            "trouble": row.trouble or None,
            "last_execution": row.last or None,
            "since": iso_of(row.began),
            "document": row.document,
        }
        try:
            trigger = trigger_of(row.document)
        except BadDocument as problem:
            return {**told, "trouble": str(problem)}
        if not row.trouble and isinstance(trigger.cause, Webhook):
            told["trouble"] = lacking_secret(self._runtime.secrets_path, trigger.cause) or None
        return {**told, "playbook": trigger.playbook, "waits_for": words_of(trigger)}

    def _slips(self, trigger: StandingTrigger) -> Iterator[StartSlip]:
        keys = {name: ("spec", "inputs", name) for name in trigger.inputs}
        known = {name: value for name, value in trigger.inputs.items() if not _has_template(value)}
        yield from start_slips(self._runtime, trigger.playbook, trigger.version, known, {**keys})
        if isinstance(trigger.cause, Webhook):
            if why := lacking_secret(self._runtime.secrets_path, trigger.cause):
                text = f"it is kept, but {why}; requests get 503 until then"
                yield StartSlip(("spec", WEBHOOK, "secret"), text)
        elif isinstance(trigger.cause, AfterEnd) and (circle := self._circle(trigger)):
            text = f"it starts itself again ({' -> '.join(circle)}), {trigger.cause.depth} times at most (`depth`)"
            yield StartSlip(("spec", "after", "playbook"), text)

    def _circle(self, trigger: StandingTrigger) -> list[str]:
        """The names of the triggers by which the end of what one starts starts it again; none where it does not."""
        others = [trigger]
        for row in self._shown():
            if row.name != trigger.name and row.kind == trigger.kind:
                try:
                    others.append(trigger_of(row.document))
                except BadDocument:
                    continue
        ways: list[list[StandingTrigger]] = [[trigger]]
        seen = set[str]()
        while ways:
            way = ways.pop(0)
            for each in others:
                if isinstance(each.cause, AfterEnd) and fnmatchcase(way[-1].playbook, each.cause.playbook):
                    if each is trigger:
                        return [one.name for one in (*way, each)]
                    if each.name not in seen:
                        seen.add(each.name)
                        ways.append([*way, each])
        return []


def words_of(trigger: StandingTrigger) -> str:
    """The thing that a trigger waits for, in words."""
    match trigger.cause:
        case AfterEnd(playbook=playbook, statuses=statuses):
            return f"the end of {playbook} ({', '.join(statuses)})"
        case NatsSubject(subject=subject):
            return f"a message on {subject}"
        case webhook:
            return f"POST /hooks/{trigger.name}, signed as {webhook.signature.form} says"


def _templates_of(trigger: StandingTrigger) -> dict[str, Json]:
    """The expressions of a document, as the runtime evaluates them. Raises BadDocument."""
    try:
        templates, problems = mapping_of(trigger.values, dict.fromkeys(trigger.values, NAMES[trigger.kind]))
    except CompileError as problem:
        raise BadDocument(str(problem)) from None
    for path, text in problems:
        at = (*_PATHS.get(path[0], ("spec", path[0])), *path[1:])
        raise BadDocument(f"`{'.'.join(at)}`: {text}", at)
    return templates


def _has_template(value: Json) -> bool:
    match value:
        case str():
            return "{{" in value
        case dict():
            return any(map(_has_template, value.values()))
        case list():
            return any(map(_has_template, value))
    return False


def _letter_document(letter: TriggerLetter) -> dict[str, Json]:
    return {"number": letter.number, "at": iso_of(letter.at), "reason": letter.reason, "what": letter.body}
