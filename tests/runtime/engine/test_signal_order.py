"""Which listener hears which signal: the engine against a model that reads EXTENSIONS §6 sentence by sentence.

Listeners of all kinds begin at seconds of their own in parallel branches, and signals come between. The model knows no
log, no net and no positions: it goes through the moments in order and asks everybody who is there.
"""

import random
from collections import defaultdict
from typing import Any, NamedTuple

import pytest

from harness.running import Ran, run
from harness.samples import first

NAMES = ("a", "b", "c")
ITEM, LATE, EVENING, END = 6.0, 17.0, 19.0, 60.0
"""Seconds that an item of a loop takes, after which a wait ends and a loop is closed by timers, and after all."""


class Listener(NamedTuple):
    """A step that listens: its number, when it begins (seconds), its kind, and the names that it hears, by the verb."""

    number: int
    begins: float
    kind: str
    names: dict[str, tuple[str, ...]]

    @property
    def own(self) -> float:
        """A fraction of a second that is nobody else's, so that no two things happen at one moment."""
        return (self.number + 1) / 64


class Case(NamedTuple):
    """Listeners, and signals as (seconds, name); the data of one is its number."""

    listeners: tuple[Listener, ...]
    signals: tuple[tuple[float, str], ...]


def case_of(seed: int) -> Case:
    """A random case."""
    chance = random.Random(seed)

    def some() -> tuple[str, ...]:
        return tuple(chance.sample(NAMES, chance.choice((1, 1, 2))))

    listeners = []
    for number, begins in enumerate(chance.sample(range(10), chance.randint(3, 6))):
        kind = chance.choice(("wait", "wait", "transient", "interrupt", "loop", "loop"))
        names = {"wait" if kind == "transient" else kind: some()}
        if kind == "loop":
            verbs = [verb for verb in ("more", "complete") if chance.random() < 0.7] or ["more"]
            if "more" in verbs and chance.random() < 0.7:
                verbs.append("close")
            # Each name is for one of the verbs of a loop: two of them are a finding.
            names = dict(zip(verbs, [(name,) for name in chance.sample(NAMES, len(verbs))], strict=True))
        listeners.append(Listener(number, float(begins), kind, names))
    signals = [(at + 0.5, chance.choice(NAMES)) for at in chance.sample(range(16), chance.randint(4, 9))]
    return Case(tuple(listeners), tuple(sorted(signals)))


def text_of(case: Case) -> str:
    """The playbook of a case; one more branch keeps the execution open."""
    arcs = ", ".join(f"{{step: s{one.number}, spec: {{delay: {one.begins}}}}}" for one in case.listeners)
    text = f"workflow:\n  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}, {{step: open}}]}}}}\n"
    text += f"  - {{step: open, tool: {{kind: wait, timers: {{end: {END}}}}}}}\n  - {{step: z}}\n"
    for one in case.listeners:
        events = {verb: list(names) for verb, names in one.names.items()}
        failed = "next: {arcs: [{step: z, when: \"{{ event.name == 'step.failed' }}\"}]}"
        http = 'tool: {kind: http, url: "http://x/"}'
        if one.kind == "interrupt":
            body = f"spec: {{policy: {{interrupt: {{events: {events['interrupt']}}}}}}}, {http}, {failed}"
        elif one.kind == "loop":
            words = [f"{verb}: {{events: {names}}}" for verb, names in events.items() if verb != "close"]
            if "more" in events:
                words.append(f"close: {{events: {events.get('close', [])}, timers: {{evening: {EVENING + one.own}}}}}")
            body = f"loop: {{in: [x], iterator: i, spec: {{mode: parallel, {', '.join(words)}}}}}, {http}"
        else:
            extra = ", transient: true" if one.kind == "transient" else ""
            body = f"tool: {{kind: wait, events: {events['wait']}, timers: {{late: {LATE + one.own}}}{extra}}}"
        text += f"  - {{step: s{one.number}, {body}}}\n"
    return text.replace("events: [], ", "")


def heard_by_engine(ran: Ran) -> dict[int, list[tuple[str, str]]]:
    """Who heard each signal, by its data, as (step, verb)."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for event in ran.log:
        data: Any = event.data
        step = ran.program.plan.steps[event.step].name
        if event.event_type == "token.claimed":
            found[data["outcome"]["result"]["data"]].append((step, "wait"))
        elif event.event_type == "loop.item.added":
            found[data["item"]].append((step, "more"))
        elif event.event_type == "loop.closed" and data["by"] == "signal":
            found[data["data"]].append((step, "complete" if data.get("complete") else "close"))
        elif event.event_type == "step.interrupted":
            found[data["data"]].append((step, "interrupt"))
    return {number: sorted(who) for number, who in found.items()}


class Standing:
    """A listener that has begun, in the model. `items` are when the items of a loop end."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.name = f"s{listener.number}"
        self.items = [listener.begins + ITEM + listener.own]
        self.is_closed = "more" not in listener.names
        self.over = False

    def hears(self, verb: str, name: str, *, is_kept: bool) -> bool:
        """Whether it hears a name by a verb now; one that is kept came before it was there."""
        deaf = self.is_closed if verb in ("more", "close") else is_kept and self.listener.kind == "transient"
        return not (self.over or deaf) and name in self.listener.names.get(verb, ())

    def pass_time(self, now: float) -> None:
        """Do what timers and tools do until a moment."""
        one = self.listener
        if one.kind == "loop":
            self.is_closed = self.is_closed or now >= one.begins + EVENING + one.own
            # A loop whose intake is closed ends with its last item: whichever of the two comes last.
            self.over = self.over or (self.is_closed and now >= max(self.items))
        else:
            self.over = self.over or now >= (self.items[0] if one.kind == "interrupt" else one.begins + LATE + one.own)


def heard_by_model(case: Case) -> dict[int, list[tuple[str, str]]]:
    """Who hears each signal by the words of the specification."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    there: list[Standing] = []
    kept: list[tuple[int, str]] = []
    lasting = [one for one in case.listeners if one.kind != "transient"]
    later = {name for one in lasting for verb in ("wait", "more") for name in one.names.get(verb, ())}

    def hear(number: int, name: str, now: float, verbs: tuple[str, ...], *, is_kept: bool = False) -> bool:
        # "A signal goes to the first that hears it, in this order: interrupt, complete, close, more, wait; among equals
        # the oldest."
        for verb in verbs:
            hearing = [one for one in there if one.hears(verb, name, is_kept=is_kept)]
            # "It stops all runs in progress that name it, and is then used up."
            for one in hearing if verb == "interrupt" else hearing[:1]:
                found[number].append((one.name, verb))
                if verb == "more":
                    one.items.append(now + ITEM + one.listener.own)
                elif verb == "close":
                    one.is_closed = True
                else:
                    one.over = True
            if hearing:
                return True
        return False

    moments: list[tuple[float, Any]] = [(one.begins, one) for one in case.listeners]
    moments += [(at, number) for number, (at, _) in enumerate(case.signals)]
    for now, what in sorted(moments, key=lambda moment: moment[0]):
        for one in there:
            one.pass_time(now)
        if isinstance(what, Listener):
            there.append(Standing(what))
            # "What nobody hears is kept for `wait` and `more` that name it": in the order in which it came.
            # `interrupt`, `complete` and `close` "hear only what stands in the log behind the event that opened them".
            kept = [each for each in kept if not hear(*each, now, ("more", "wait"), is_kept=True)]
            continue
        name = case.signals[what][1]
        if not hear(what, name, now, ("interrupt", "complete", "close", "more", "wait")) and name in later:
            kept.append((what, name))
    return {number: sorted(who) for number, who in found.items()}


@pytest.mark.parametrize("seed", first(60, range(600)))
def test_each_signal_is_heard_by_whom_the_specification_says(seed: int) -> None:
    case = case_of(seed)
    outcomes = [{"step": f"s{one.number}", "takes": ITEM + one.own, "outcome": {"result": 1}} for one in case.listeners]
    signals = [{"at": at, "name": name, "data": number} for number, (at, name) in enumerate(case.signals)]
    ran = run(text_of(case), {"outcomes": outcomes, "signals": signals})
    assert ran.status == "completed"
    assert heard_by_engine(ran) == heard_by_model(case)


def test_the_cases_have_every_verb_and_what_is_kept() -> None:
    """The comparison above says something only if everything happens in it."""
    cases = [case_of(seed) for seed in range(60)]
    verbs = [verb for case in cases for who in heard_by_model(case).values() for _, verb in who]
    assert min(verbs.count(verb) for verb in ("interrupt", "complete", "close", "more", "wait")) > 15
    unheard = sum(len(case.signals) - len(heard_by_model(case)) for case in cases)
    assert unheard > 15
