"""Retention: which executions that are over are kept no longer, and their purge.

A purge takes a whole family: an execution that nobody called, and all that it called, down to the last. So no log names
a child, or a value of one, that is not there. What an execution has beside its log (values, output) goes after the log
did. The store remembers it until then, and whoever purges next finishes what a crash left undone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from noetl.app.pending_starts import pending_start
from noetl.app.runtime import Runtime
from noetl.app.upkeep import UpkeepPause
from noetl.ports import STATUSES, Clock, Damaged, ExecutionRow, Owned, StoreFailure, Unpurgeable, Wanted
from noetl.ports.actors import Actor, acting
from noetl.ports.audit import Audited
from noetl.ports.purges import Removable
from noetl_ir.kinds import seconds_of
from noetl_ir.records import NamedTuple

ANY = "any"
"""The word of a rule for every status."""

OVER = tuple([status for status in STATUSES if status not in ("running", "paused")])
"""The statuses of what is over."""

SWEPT = 2_000
"""Events of a purged execution that go in one transaction: a few milliseconds, in which nobody else can commit."""

_PAGE = 500
_BY_RULES = Actor("retention", "server")


class RetentionRule(NamedTuple):
    """Executions of playbooks whose path fits the pattern, and of a status, are kept for so many microseconds after
    their end. `ANY` is every status; in a pattern `*` stands for any text and `?` for any character.
    """

    playbook: str
    status: str
    age: int

    def fits(self, row: ExecutionRow) -> bool:
        """Whether the rule is about an execution."""
        return self.status in (ANY, row.status) and fnmatchcase(row.playbook, self.playbook)


def rule_of(text: str) -> RetentionRule:
    """The rule that is written `[PATTERN:]STATUS=AGE`, as in `completed=7d` or `etl/*:any=36h`. Raises ValueError,
    whose text says what is wrong and what to write.
    """
    named, equals, age = text.rpartition("=")
    playbook, _, status = named.rpartition(":")
    seconds = age_of(age)
    if not equals or seconds is None:
        raise ValueError(f"`{text}` has no age behind `=`: write it as in completed=7d or 'etl/*:any=36h'")
    if status not in (ANY, *OVER):
        raise ValueError(f"`{text}` names no status: write one of {', '.join((*OVER, ANY))} before `=`")
    return RetentionRule(playbook or "*", status, seconds)


def age_of(text: str) -> int | None:
    """Microseconds of an age: a duration with its unit (`90m`, `36h`, `30d`), or 0; None for what is none."""
    # In a playbook a number without a unit is of seconds. Here `completed=7` would purge what is a week to be kept.
    seconds = seconds_of(text) if text == "0" or text[-1:].isalpha() else None
    return None if seconds is None else round(seconds * 1_000_000)


def no_root(row: ExecutionRow, verb: str = "purge") -> str:
    """Why an execution cannot be purged (`verb`) by its name, in words; empty where it can."""
    if row.parent_execution_id is not None:
        return f"{row.execution_id} was called by {row.parent_execution_id}: {verb} that one, and it goes with it"
    return "" if row.ended is not None else f"{row.execution_id} is not over: it is {row.status}"


class KeptFamily(NamedTuple):
    """A family that could not be purged, by its first execution, and why in words; `is_damaged`: until it is mended."""

    execution_id: str
    why: str
    is_damaged: bool = False


class PurgeCount(NamedTuple):
    """Counts of a purge: families, executions, and the bytes of their values and output. `kept` were to go, and did
    not.
    """

    families: int = 0
    executions: int = 0
    size: int = 0
    kept: tuple[KeptFamily, ...] = ()


def _on() -> bool:
    return True


def remove_rest(runtime: Runtime, execution_id: str, pause: UpkeepPause = _on) -> int:
    """Remove all that is left of an execution that was purged, for whoever owns it; the bytes of values and output.
    Nothing happens to one that was not purged: somebody may have restored it meanwhile. Raises StoreFailure.
    """
    purges = runtime.store.purges
    if not purges.purged(execution_id):
        return 0
    while not purges.sweep(execution_id, SWEPT):
        if not pause():
            return 0
    size = sum([port.remove(execution_id) for port in (runtime.blobs, runtime.outputs) if isinstance(port, Removable)])
    purges.forget(execution_id)
    return size


class Purger:
    """Purges families of a store. `archive` gets each of them, the first execution before those that it called, before
    anything of it is gone. One that it finds damaged is kept; what it raises else stops the purge.
    """

    def __init__(
        self, runtime: Runtime, archive: Callable[[Sequence[ExecutionRow]], object] = lambda rows: None
    ) -> None:
        self._runtime = runtime
        self._archive = archive

    def expired(self, rules: Sequence[RetentionRule], now: int, before: str = "") -> Iterator[ExecutionRow]:
        """The executions that nobody called and that are kept no longer: the first rule that fits one counts, and what
        none fits is kept. With one rule, those `before` which another one stands in lists. Raises StoreFailure.
        """
        for number, rule in enumerate(rules):
            status = "" if rule.status == ANY else rule.status
            # What began later cannot have been over for so long.
            wanted = Wanted(status=status, top=True, limit=_PAGE, before=before, started_before=now - rule.age)
            while page := self._runtime.store.executions(wanted):
                for row in page:
                    is_over = row.ended is not None and row.ended <= now - rule.age
                    if is_over and rule.fits(row) and not any(earlier.fits(row) for earlier in rules[:number]):
                        yield row
                if len(page) < _PAGE:
                    break
                wanted = wanted._replace(before=self._last_of(page, wanted.before))

    def forget_deeds(self, before: int) -> None:
        """Remove what the audit of the store has from before a time. Raises StoreFailure."""
        if isinstance(self._runtime.store, Audited):
            self._runtime.store.audit.forget_deeds(before)

    def family(self, row: ExecutionRow) -> list[ExecutionRow]:
        """An execution and all that it called, callers first. Raises StoreFailure."""
        rows, known = [row], {row.execution_id}
        for caller in rows:
            called = self._runtime.store.executions(Wanted(parent=caller.execution_id))
            rows += [each for each in called if each.execution_id not in known]
            known |= {each.execution_id for each in called}
        return rows

    def purge(self, roots: Iterator[ExecutionRow] | Sequence[ExecutionRow], pause: UpkeepPause = _on) -> PurgeCount:
        """Purge the families of these executions, and what an earlier purge left undone. Raises StoreFailure."""
        done = self._finished(pause)
        for row in roots:
            if not pause():
                break
            try:
                with self._runtime.store.own(row.execution_id):
                    rows = self.family(row)
                    if any(each.ended is None for each in rows):
                        raise Unpurgeable("not all that it called is over")
                    if why := pending_start(self._runtime, row):
                        raise Unpurgeable(why)
                    self._archive(rows)
                    self._runtime.store.purges.purge([each.execution_id for each in rows])
            # Whoever has it may be about to go on with it; it comes again with the next purge.
            except (Owned, Unpurgeable) as problem:
                done = done._replace(kept=(*done.kept, KeptFamily(row.execution_id, str(problem))))
                continue
            except Damaged as problem:
                why = f"{problem.what}, so no bundle of it could be restored; a purge without one takes it as it is"
                done = done._replace(kept=(*done.kept, KeptFamily(row.execution_id, why, is_damaged=True)))
                continue
            size = done.size + self._finished(pause).size
            done = done._replace(families=done.families + 1, executions=done.executions + len(rows), size=size)
        return done

    def _finished(self, pause: UpkeepPause) -> PurgeCount:
        """Remove all that is left of executions that were purged. One that somebody has is being restored, or removed
        by another one.
        """
        size = 0
        for name in self._runtime.store.purges.purged():
            if not pause():
                break
            with suppress(Owned), self._runtime.store.own(name):
                size += remove_rest(self._runtime, name, pause)
        return PurgeCount(size=size)

    def _last_of(self, page: Sequence[ExecutionRow], before: str) -> str:
        """The last row of a page that is still there: those that were purged meanwhile are nothing to go on behind."""
        for row in reversed(page):
            if self._runtime.store.execution(row.execution_id) is not None:
                return row.execution_id
        return before


class Retention:
    """The purge of what is kept no longer, as a job of upkeep. `clock` is the one by which executions have ended; rows
    of the audit go that are older than `audit_age` microseconds, none where it is 0.
    """

    def __init__(self, purger: Purger, rules: Sequence[RetentionRule], clock: Clock, audit_age: int = 0) -> None:
        self._audit_age = audit_age
        self.purger = purger
        self._rules = rules
        self._clock = clock
        self._told = set[str]()
        self._failure = ""

    def keep_up(self, pause: UpkeepPause) -> str:
        """Purge, and say what is gone. Those that could not go are looked at the next time; what is damaged is said
        once, and so is a failure that stays.
        """
        if self._audit_age:
            self.purger.forget_deeds(self._clock.now() - self._audit_age)
        try:
            with acting(_BY_RULES):
                done = self.purger.purge(self.purger.expired(self._rules, self._clock.now()), pause)
        except StoreFailure as problem:  # an archive that is away, say: it would be away every 10 minutes
            text = f"nothing is purged: {problem}"
            is_new = text != self._failure
            self._failure = text
            return text if is_new else ""
        self._failure = ""
        said = [
            f"kept {each.execution_id}: {each.why}"
            for each in done.kept
            if each.is_damaged and each.execution_id not in self._told
        ]
        self._told |= {each.execution_id for each in done.kept if each.is_damaged}
        if done.families or done.size:
            size = f"{done.size:,} bytes of values and output"
            said.insert(0, f"purged {done.executions:,} executions that are kept no longer ({size})")
        return "\n".join(said)
