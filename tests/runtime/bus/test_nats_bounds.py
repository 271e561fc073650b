"""Whatever is kept on NATS has a bound: the table of runtime/README.md, held against what JetStream says."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from nats.aio.client import Client
from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig, StreamState

from noetl.app.sessions import sessions_on
from noetl.bus.nats.bus import NatsBus
from noetl.bus.nats.dead_letters import KEPT
from noetl.bus.nats.queues import QueueLimits
from noetl.ports.bus import DeadLetter
from services import PLAIN, nats, waited_for

README = Path(__file__).resolve().parents[3] / "runtime" / "README.md"
HOUR = 3600


def streams_of(prefix: str) -> dict[str, tuple[StreamConfig, StreamState]]:
    """The streams of a bus, by what follows its prefix."""

    async def asked() -> dict[str, tuple[StreamConfig, StreamState]]:
        client = Client()
        await client.connect(f"nats://{nats().address}")
        found = {info.config.name or "": (info.config, info.state) for info in await client.jetstream().streams_info()}
        await client.close()
        return {name.removeprefix("KV_").removeprefix(prefix): about for name, about in found.items() if prefix in name}

    return asyncio.run(asked())


def rows() -> Iterator[list[str]]:
    """The rows of the table, without its head."""
    table = README.read_text().partition("| kept on NATS |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_every_stream_has_the_bound_that_the_table_says() -> None:
    url = nats().bus_url()
    prefix = url.rpartition("/")[2]
    bus, sessions = NatsBus(url, limits=QueueLimits(), codec=PLAIN), sessions_on(url)
    with closing(bus), closing(sessions):
        bus.send("p", "k", "order")
        sessions.create("u", {"user": "u"}, HOUR)
        waited_for(lambda: len(streams_of(prefix)) == 3, "the streams are not there")
        found = streams_of(prefix)
    table = {name.partition("`")[2].partition("`")[0].removeprefix("PREFIX"): bound for name, bound, *_ in rows()}
    assert {*table} == {"_run_POOL", "_dead_letters", "_sessions"}
    assert {*found} == {"_run_p", "_dead_letters", "_sessions"}
    queue = found["_run_p"][0]
    assert (queue.retention, queue.discard) == (RetentionPolicy.WORK_QUEUE, DiscardPolicy.NEW)
    assert f"{queue.max_msgs:,} orders" in table["_run_POOL"] and queue.max_msgs_per_subject == 1
    letters = found["_dead_letters"][0]
    assert letters.max_msgs == KEPT and f"{KEPT:,} letters" in table["_dead_letters"]
    kept = found["_sessions"][0]
    assert kept.max_msgs_per_subject == 1 and "time to live" in table["_sessions"]


def test_nothing_of_a_session_stays_behind_its_end() -> None:
    """Neither of one that somebody ended nor of one whose time has passed."""
    url = nats().bus_url()
    with closing(sessions_on(url)) as sessions:
        for seconds in (HOUR, 1):
            token, _ = sessions.create("u", {"user": "u"}, seconds)
            if seconds == HOUR:
                sessions.invalidate(token)
        name = url.rpartition("/")[2]
        waited_for(lambda: streams_of(name)["_sessions"][1].messages == 0, "something stays", 10)


def test_letters_beyond_the_bound_push_out_the_oldest() -> None:
    url = nats().bus_url()
    with closing(NatsBus(url, limits=QueueLimits(), codec=PLAIN)) as bus:
        bus._dead_letters.keep(DeadLetter("p", "k", 1, "why"), lambda: None)
        waited_for(lambda: bus.dead_letters(), "the letter is not kept")
    config, state = streams_of(url.rpartition("/")[2])["_dead_letters"]
    assert config.discard in (None, DiscardPolicy.OLD) and state.bytes < 1_000  # without the message's body
