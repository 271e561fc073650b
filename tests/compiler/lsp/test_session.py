"""A session by itself: when a text is looked at, whatever is asked meanwhile."""

import asyncio
from collections.abc import Callable, Mapping
from threading import Event

from lsprotocol import types

from noetlc.cli.inspection import looked_into
from noetlc.lsp.project import Looked
from noetlc.lsp.server import code_actions
from noetlc.lsp.session import EditorSession

TEXT = (
    "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a}\nworkflow:\n  - step: start\n    tool: {kind: nop}\n"
)


class Slow:
    """A project of one file, whose findings come when `go` is set; `looks` are the texts that were looked at."""

    def __init__(self) -> None:
        self.looks: list[str] = []
        self.migrations: list[str] = []
        self.go = Event()

    def found_in(self, name: str, text: str) -> Looked:
        self.looks.append(text)
        self.go.wait(60)
        kept, compiled = looked_into(name, text.encode(), migrating=False)
        return Looked(kept.findings, (), compiled)

    def migrated_in(self, name: str, text: str) -> Looked:
        self.migrations.append(text)
        return Looked(looked_into(name, text.encode())[0].findings)

    def suites(self) -> Mapping[str, str]:
        return {}

    def hold(self, name: str, text: str) -> None: ...
    def let_go(self, name: str) -> None: ...
    def look_again(self) -> None: ...

    def texts(self) -> Mapping[str, str]:
        return {}

    def mended(self, name: str, text: str) -> str:
        return text

    def state_of(self, path: str) -> str:
        return ""

    def find(self, path: str) -> tuple[str, bytes] | None:
        return None


def session_of(project: Slow) -> tuple[EditorSession, list[types.PublishDiagnosticsParams]]:
    published: list[types.PublishDiagnosticsParams] = []
    session = EditorSession(published.append)
    session.begin_session(project)
    return session, published


def test_several_questions_wait_for_one_look() -> None:
    project = Slow()
    session, _ = session_of(project)

    async def ask() -> None:
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        one = session.opened["file:///a.yaml"]
        questions = [asyncio.create_task(session.known(one)) for _ in range(5)]
        await asyncio.sleep(0)
        questions[0].cancel()
        project.go.set()
        found = await asyncio.gather(*questions, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert all(known is one.known and known is not None for known in found[1:])

    asyncio.run(ask())
    assert project.looks == [TEXT]


OLDER = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: a/a}
workflow:
  - step: start
    tool: {kind: noop}
    next: end
  - step: end
"""


def test_a_file_is_migrated_when_somebody_asks_for_the_fix_and_once_for_a_text() -> None:
    project = Slow()
    project.go.set()
    session, published = session_of(project)
    document = types.TextDocumentIdentifier("file:///a.yaml")

    def asked(line: int) -> types.CodeActionParams:
        place = types.Range(types.Position(line, 0), types.Position(line, 13))
        return types.CodeActionParams(document, place, types.CodeActionContext([]))

    async def ask() -> None:
        session.open("file:///a.yaml", "/a.yaml", 1, OLDER)
        while not published:
            await asyncio.sleep(0.01)
        # The editor asks for fixes wherever the cursor stands.
        assert await code_actions(session, asked(5)) == []
        assert [one.code for one in published[0].diagnostics] == ["NL910"] and project.migrations == []
        for _ in range(2):
            [fix] = await code_actions(session, asked(6))
            assert fix.title == "migrate the whole file"
        assert project.migrations == [OLDER]

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_findings_of_a_text_that_was_typed_over_are_not_shown() -> None:
    project = Slow()
    session, published = session_of(project)

    async def type_on() -> None:
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        while not project.looks:
            await asyncio.sleep(0.01)
        session.change("file:///a.yaml", 2, TEXT.replace("nop", "noop"))
        project.go.set()
        while not published:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(type_on(), 60))
    assert [(one.version, list(one.diagnostics)) for one in published] == [(2, [])]


class Overtaken(Slow):
    """A project in whose looks another key is pressed each time, seven in all."""

    def __init__(self) -> None:
        super().__init__()
        self.go.set()
        self.press: Callable[[int, str], None]

    def found_in(self, name: str, text: str) -> Looked:
        found = super().found_in(name, text)
        if (version := len(self.looks) + 1) <= 7:
            self.press(version, f"# a\n{text}")
        return found


def test_findings_are_shown_while_somebody_types_faster_than_they_are_found() -> None:
    project = Overtaken()
    session, published = session_of(project)

    async def type_on() -> None:
        loop = asyncio.get_running_loop()

        async def change(version: int, text: str) -> None:
            session.change("file:///a.yaml", version, text)

        project.press = lambda *key: asyncio.run_coroutine_threadsafe(change(*key), loop).result(30)
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        while not published or published[-1].version != 7:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(type_on(), 60))
    # Every second look is shown, and the last one, each at the places of the text that was looked at.
    assert [one.version for one in published] == [2, 4, 6, 7]
    assert [[each.range.start.line for each in one.diagnostics] for one in published] == [[6], [8], [10], [11]]


def test_a_text_is_looked_at_though_a_question_was_being_answered_about_the_one_before() -> None:
    project = Slow()
    session, published = session_of(project)

    async def type_on() -> None:
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        asked = asyncio.create_task(session.known(session.opened["file:///a.yaml"]))
        while not project.looks:
            await asyncio.sleep(0.01)
        session.change("file:///a.yaml", 2, TEXT.replace("nop", "noop"))
        # As long as a text rests before it is looked at, and longer.
        await asyncio.sleep(0.2)
        asked.cancel()
        project.go.set()
        while not published:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(type_on(), 60))
    assert [(one.version, list(one.diagnostics)) for one in published] == [(2, [])]


def test_a_closed_file_is_shown_none_though_a_look_comes_late() -> None:
    project = Slow()
    session, published = session_of(project)

    async def close() -> None:
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        while not project.looks:
            await asyncio.sleep(0.01)
        session.close("file:///a.yaml")
        project.go.set()
        await asyncio.sleep(0.3)

    asyncio.run(asyncio.wait_for(close(), 60))
    assert [list(one.diagnostics) for one in published] == [[]]


def test_names_are_those_of_the_text_as_it_is_now() -> None:
    project = Slow()
    session, _ = session_of(project)
    project.go.set()

    async def type_on() -> list[list[int]]:
        session.open("file:///a.yaml", "/a.yaml", 1, TEXT)
        one = session.opened["file:///a.yaml"]
        await session.known(one)
        free = Event()
        before = asyncio.create_task(session.in_thread(free.wait, 30))
        asked = asyncio.create_task(session.occurrences(one))
        await asyncio.sleep(0.1)
        # The names are looked for in the old text, and found when the new one is there.
        session.change("file:///a.yaml", 2, f"# above\n{TEXT}")
        free.set()
        await before
        return [[each.span.line for each in found] for found in (await asked, await session.occurrences(one))]

    assert asyncio.run(asyncio.wait_for(type_on(), 60)) == [[6], [6]]
