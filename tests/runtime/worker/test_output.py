"""Task output on its way: decoded, secrets hidden however it is cut, limits, and a writer that holds up nobody."""

import asyncio
import random
import threading
import time
from collections.abc import Sequence

import pytest

from harness.samples import first
from noetl.ports import StoreFailure, StoreRefused, ToolCall
from noetl.ports.output import ATTEMPT_BYTES, CHUNK, CUT, CUT_TEXT, OutputChunk
from noetl.worker import output as output_module
from noetl.worker.output import OutputWriter, TaskOutput
from noetl.worker.redaction import Redactor, finished_length
from noetl.worker.secret_forms import forms_of

CALL = ToolCall("e1", "s", "t", "python", {}, {}, {}, None, "", 1, {}, claim=3)
SECRET = "correct horse battery"
PEM = "-----BEGIN KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END KEY-----\n"


class Clear:
    """Hides nothing."""

    def redacted(self, text: str) -> str:
        return text

    def finished(self, text: str) -> int:
        return len(text)


class Hides:
    """Hides some secrets."""

    def __init__(self, *secrets: str) -> None:
        self.redactor = Redactor(b"k" * 32, lambda entry, field: None)
        self.redactor.learn(("entry", f"f{number}", secret) for number, secret in enumerate(secrets))

    def redacted(self, text: str) -> str:
        return self.redactor.redact_text(text)

    def finished(self, text: str) -> int:
        return self.redactor.finished(text)


class Kept:
    """A `TaskOutput` with what came of it."""

    def __init__(self, hiding: Hides | Clear | None = None) -> None:
        self.chunks: list[OutputChunk] = []
        self.lines: list[str] = []
        self.output = TaskOutput(CALL, hiding or Clear(), self.chunks.append, self.lines.append)

    def text(self, stream: str = "stdout") -> str:
        return "".join(chunk.text for chunk in self.chunks if chunk.stream == stream)


def written(pieces: Sequence[bytes], hiding: Hides | Clear | None = None) -> Kept:
    kept = Kept(hiding)
    for piece in (*filter(None, pieces), b""):
        kept.output.write("stdout", piece, told=True)
    return kept


def test_output_is_decoded_whatever_comes_and_lines_are_told() -> None:
    text = "é𝄞\nno end"
    for cut in range(len(text.encode())):
        kept = written([text.encode()[:cut], text.encode()[cut:]])
        assert (kept.text(), kept.lines) == (text, ["é𝄞", "no end"])
    assert written([b"\xff\xfeA\xc3"]).text() == "\ufffd\ufffdA\ufffd"


def test_a_chunk_says_whose_it_is_and_offsets_go_on_over_all_streams() -> None:
    kept = Kept()
    kept.output.write("stdout", b"one\n", told=False)
    kept.output.write("stderr", b"two\n", told=False)
    kept.output.take_line("three")
    kept.output.write("stdout", "é\n".encode() * CHUNK, told=False)
    assert kept.lines == ["three"]
    assert [(chunk.stream, chunk.offset) for chunk in kept.chunks[:4]] == [
        ("stdout", 0), ("stderr", 4), ("tool", 8), ("stdout", 14)
    ]  # fmt: skip
    for before, chunk in zip(kept.chunks, kept.chunks[1:], strict=False):
        assert chunk.offset == before.until and len(chunk.text) <= CHUNK
    assert {chunk.key for chunk in kept.chunks} == {("s", 1, (), "t", 1, 1, 3)}


@pytest.mark.parametrize("secret", [SECRET, PEM, "aaaaaaaaaa", "abababababab"])
def test_a_secret_is_hidden_wherever_the_output_is_cut(secret: str) -> None:
    hiding = Hides(secret)
    for form in {secret, *forms_of(secret).values()}:
        data = f"before {form} behind, {form}{form}\n{form[:-1]}".encode()
        whole = hiding.redacted(data.decode())
        assert form not in whole
        for cut in range(1, len(data)):
            kept = written([data[:cut], data[cut:]], hiding)
            assert kept.text() == whole, cut
            assert not any(form in line for line in kept.lines)
    one_by_one = written([bytes([byte]) for byte in f"x{secret}y".encode()], hiding)
    assert secret not in one_by_one.text() and one_by_one.text() == hiding.redacted(f"x{secret}y")


@pytest.mark.parametrize("seed", first(60, range(400)))
def test_pieces_of_any_size_are_hidden_as_the_whole_is(seed: int) -> None:
    """Of two letters, so that secrets begin inside of each other, are parts of each other and repeat themselves."""
    chance = random.Random(seed)
    secrets = ["".join(chance.choices("ab", k=chance.randint(8, 12))) for _ in range(3)]
    hiding = Hides(*secrets)
    text = "".join(chance.choices([*secrets, "a", "b", "ab", *(secret[:5] for secret in secrets)], k=30))
    data, pieces = text.encode(), list[bytes]()
    while data:
        size = chance.randint(1, 15)
        pieces.append(data[:size])
        data = data[size:]
    kept = written(pieces, hiding)
    assert kept.text() == hiding.redacted(text)
    forms = [form for secret in secrets for form in forms_of(secret).values()]
    assert not any(secret in kept.text() for secret in secrets)
    at = finished_length(text, forms)
    assert hiding.redacted(text[:at]) + hiding.redacted(text[at:]) == hiding.redacted(text)


def test_output_beyond_the_limit_is_cut_with_a_mark_and_no_secret_with_it() -> None:
    hiding = Hides(SECRET)
    kept = Kept(hiding)
    kept.output.write("stdout", b"x" * (ATTEMPT_BYTES - 10), told=True)
    kept.output.write("stdout", SECRET.encode(), told=True)
    kept.output.write("stdout", b"more" * 1000, told=True)
    kept.output.write("stderr", b"more", told=True)
    kept.output.write("stdout", b"", told=True)
    kept.output.take_line("told all the same")
    assert kept.chunks[-1].stream == CUT and kept.chunks[-1].text == CUT_TEXT
    assert len(kept.text()) == ATTEMPT_BYTES and "correct" not in kept.text()
    assert kept.lines[-2:] == [CUT_TEXT.strip(), "told all the same"]
    assert kept.text("stderr") == kept.text("tool") == ""


def test_output_of_just_the_limit_is_whole_and_a_byte_more_is_told() -> None:
    kept = Kept()
    for _ in range(16):
        kept.output.write("stdout", b"x" * (ATTEMPT_BYTES // 16), told=False)
    assert {chunk.stream for chunk in kept.chunks} == {"stdout"}
    kept.output.write("stderr", b"x", told=False)
    assert kept.chunks[-1].stream == CUT and kept.text("stderr") == ""


def test_lines_of_a_tool_have_the_same_limit() -> None:
    kept = Kept()
    for _ in range(20):
        kept.output.take_line("x" * (ATTEMPT_BYTES // 16))
    assert (len(kept.lines), kept.chunks[-1].stream, len(kept.text("tool"))) == (20, CUT, ATTEMPT_BYTES)


def test_a_line_without_an_end_is_told_in_pieces() -> None:
    kept = Kept()
    for _ in range(40):
        kept.output.write("stdout", b"x" * 4096, told=True)
    assert kept.lines and max(map(len, kept.lines)) < 2 * output_module.LONGEST_LINE
    kept.output.write("stdout", b"", told=True)
    assert sum(map(len, kept.lines)) == 40 * 4096


def test_half_of_a_surrogate_pair_is_kept_as_something_that_every_store_takes() -> None:
    kept = Kept()
    kept.output.take_line("\ud800")
    kept.chunks[0].text.encode()


def chunk_at(number: int, attempt: int = 1) -> OutputChunk:
    return OutputChunk("e1", "s", 1, (), "t", 1, attempt, 3, "stdout", number, 0, "x")


class Store:
    """Keeps chunks, or fails as it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[OutputChunk]] = []
        self.problem: Exception | None = None
        self.tried = threading.Event()
        self.may = threading.Event()
        self.may.set()

    def add(self, chunks: Sequence[OutputChunk]) -> None:
        self.tried.set()
        self.may.wait(60)
        if self.problem is not None:
            raise self.problem
        self.batches.append([*chunks])

    @property
    def text(self) -> str:
        return "".join(chunk.text for batch in self.batches for chunk in batch)


def test_who_prints_nothing_has_no_thread_and_waits_for_nobody() -> None:
    before = threading.active_count()
    writer = OutputWriter(Store().add)
    asyncio.run(writer.settled(CALL))
    writer.close()
    assert threading.active_count() == before


def test_what_an_attempt_printed_is_kept_before_its_end() -> None:
    store = Store()
    writer = OutputWriter(store.add)
    for number in range(100):
        writer.put(chunk_at(number))
    asyncio.run(writer.settled(CALL))
    assert store.text == "x" * 100
    assert sum(map(len, store.batches)) < 100, "pieces were joined"
    writer.close()


def test_a_task_does_not_wait_for_what_others_print(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.may.clear()
    writer = OutputWriter(store.add)
    writer.put(chunk_at(0, attempt=2))

    async def settled() -> None:
        async with asyncio.timeout(10):
            await writer.settled(CALL)

    asyncio.run(settled())
    store.may.set()
    writer.close()
    assert store.text == "x"


def test_a_store_that_fails_is_tried_again_and_no_task_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "PAUSE", 0.01)
    store = Store()
    store.problem = StoreFailure("away")
    writer = OutputWriter(store.add)
    writer.put(chunk_at(0))

    async def settled() -> None:
        async with asyncio.timeout(3):
            await writer.settled(CALL)

    asyncio.run(settled())
    store.problem = None
    writer.put(chunk_at(1))
    writer.close()
    assert store.text == "xx"


def test_what_is_refused_is_dropped_and_what_follows_is_kept() -> None:
    store = Store()
    writer = OutputWriter(store.add)
    for problem in (StoreRefused("no"), ValueError("a mistake")):
        store.problem = problem
        store.tried.clear()
        writer.put(chunk_at(0))
        assert store.tried.wait(60)
        asyncio.run(writer.settled(CALL))
    store.problem = None
    writer.put(chunk_at(1))
    writer.close()
    assert [chunk.offset for batch in store.batches for chunk in batch] == [1]


def test_what_waits_for_a_store_that_is_away_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MOST_WAITING", 100_000)
    store = Store()
    store.may.clear()
    writer = OutputWriter(store.add)
    for number in range(200):
        writer.put(chunk_at(number * 8192)._replace(text="x" * 8192))
    store.may.set()
    writer.close()
    assert 90_000 <= len(store.text) < 400_000


def test_more_than_is_kept_at_a_time_does_not_wait_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "GATHER", 60)
    store = Store()
    writer = OutputWriter(store.add)
    for number in range(100):
        writer.put(chunk_at(number * 8192)._replace(text="x" * 8192))
    until = time.monotonic() + 60
    while len(store.text) < 600_000 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(store.text) >= 600_000
    writer.close()


def test_one_that_floods_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MOST_WAITING", 200_000)
    monkeypatch.setattr(output_module, "MOST_OF_ONE", 100_000)
    store = Store()
    store.may.clear()
    writer = OutputWriter(store.add)
    for number in range(200):
        writer.put(chunk_at(number * 8192)._replace(text="x" * 8192))
    writer.put(chunk_at(0)._replace(execution_id="e2", text="of another"))
    store.may.set()
    writer.close()
    assert store.text.count("x") < 250_000 and "of another" in store.text


@pytest.mark.parametrize("last", ["stdout", "cut"])
def test_a_gap_is_seen_also_where_nothing_was_printed_behind_it(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    monkeypatch.setattr(output_module, "MOST_WAITING", 50_000)
    store = Store()
    store.may.clear()
    writer = OutputWriter(store.add)
    for number in range(20):
        writer.put(chunk_at(number * 8192)._replace(text="x" * 8192))
    writer.put(chunk_at(20 * 8192)._replace(stream=last, text="the end\n"))
    store.may.set()
    writer.close()
    end = [chunk for batch in store.batches for chunk in batch][-1]
    assert (end.stream, end.until) == (last, 20 * 8192 + 8)
    assert len(store.text) < 100_000


def test_on_the_spot_there_is_no_thread() -> None:
    store = Store()
    writer = OutputWriter(store.add, beside=False)
    writer.put(chunk_at(0))
    store.problem = StoreFailure("away")
    writer.put(chunk_at(1))
    assert store.text == "x"
    writer.close()
