"""nats: every operation against a real server (LANGUAGE §7)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from noetl.clients.egress import Egress
from noetl.clients.nats import cancellable
from noetl.tools import nats as tool
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from services import nats
from tool_doubles import FakeEnv, call_of, failed, waited

_buckets = count(1)


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path, {"n": {"nats_url": f"nats://{nats().address}"}})


@pytest.fixture
def bucket() -> str:
    return f"bucket{next(_buckets)}"


def ran(env: FakeEnv, operation: str, /, **fields: Json) -> Outcome:
    return waited(tool.run(call_of("nats", {"operation": operation, "auth": "n", **fields}, timeout=20), env))


def result_of(env: FakeEnv, operation: str, /, **fields: Json) -> dict[str, Json]:
    outcome = ran(env, operation, **fields)
    assert isinstance(outcome.result, dict) and outcome.status == "ok", outcome
    return outcome.result


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    client = Client()
    await client.connect(f"nats://{nats().address}")
    try:
        yield client
    finally:
        await client.close()


def slow_nats(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by a server that never says who it is."""
    return {"operation": "kv_keys", "bucket": "b", "url": f"nats://{url.removeprefix('http://')}"}


def test_a_cancellation_that_comes_with_a_result_is_not_forgotten() -> None:
    async def asks_twice(result: "asyncio.Future[int]") -> None:
        await asyncio.wait_for(result, 600)  # as the driver waits
        await asyncio.sleep(600)

    async def cancelled() -> None:
        result = asyncio.get_running_loop().create_future()
        asking = asyncio.ensure_future(cancellable(asks_twice(result)))
        await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.sleep(0)  # now the work is told, and wakes in the next turn
        result.set_result(1)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 60)
        assert len(asyncio.all_tasks()) == 1

    waited(cancelled())


@pytest.mark.parametrize(
    "value",
    ["plain", "", "5", "null", '{"a": 1}', '"quoted"', "ü\n", 5, 2.5, True, None, [1, "x"], {"a": {"b": []}}],
    ids=repr,
)
def test_a_value_comes_back_as_it_went_in(env: FakeEnv, bucket: str, value: Json) -> None:
    put = result_of(env, "kv_put", bucket=bucket, key="a.b", value=value)
    assert put == {"bucket": bucket, "key": "a.b", "revision": 1}
    assert result_of(env, "kv_get", bucket=bucket, key="a.b") == {**put, "value": value}


def test_what_others_stored(env: FakeEnv, bucket: str) -> None:
    async def stored() -> None:
        async with connected() as client:
            store = await client.jetstream().create_key_value(bucket=bucket)
            for key, data in (("json", b'{"a":[1]}'), ("text", b"hello"), ("raw", b"\xff\x00"), ("empty", b"")):
                await store.put(key, data)

    waited(stored())
    found = {key: ran(env, "kv_get", bucket=bucket, key=key) for key in ("json", "text", "raw", "empty")}
    values = [
        (outcome.result["value"], outcome.extras["nats"])
        for outcome in found.values()
        if isinstance(outcome.result, dict)
    ]
    assert values == [
        ({"a": [1]}, {"encoding": "json"}),
        ("hello", {"encoding": "text"}),
        ("/wA=", {"encoding": "base64"}),
        (None, {"encoding": "none"}),
    ]


def test_keys_by_pattern_and_deletion(env: FakeEnv, bucket: str) -> None:
    for key in ("user.1.a", "user.1.b", "user.2.a"):
        result_of(env, "kv_put", bucket=bucket, key=key, value=1)
    assert result_of(env, "kv_keys", bucket=bucket, key="user.1.*")["keys"] == ["user.1.a", "user.1.b"]
    assert result_of(env, "kv_delete", bucket=bucket, key="user.1.a") == {"bucket": bucket, "key": "user.1.a"}
    assert result_of(env, "kv_keys", bucket=bucket) == {"bucket": bucket, "keys": ["user.1.b", "user.2.a"]}
    error = failed(ran(env, "kv_get", bucket=bucket, key="user.1.a"))
    assert (error["code"], error["retryable"]) == ("nats.not_found", False)


def test_a_list_of_keys_has_an_end(env: FakeEnv, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MOST_KEYS", 2)
    for key in "abc":
        result_of(env, "kv_put", bucket=bucket, key=key, value=1)
    assert failed(ran(env, "kv_keys", bucket=bucket))["code"] == "nats.too_large"
    assert result_of(env, "kv_keys", bucket=bucket, key="a")["keys"] == ["a"]


def test_a_value_is_put_only_over_the_revision_that_was_read(env: FakeEnv, bucket: str) -> None:
    assert result_of(env, "kv_put", bucket=bucket, key="k", value=1, revision=0)["revision"] == 1
    assert failed(ran(env, "kv_put", bucket=bucket, key="k", value=2, revision=0))["code"] == "nats.revision"
    assert result_of(env, "kv_put", bucket=bucket, key="k", value=2, revision=1)["revision"] == 2
    assert failed(ran(env, "kv_delete", bucket=bucket, key="k", revision=1))["code"] == "nats.revision"
    assert result_of(env, "kv_get", bucket=bucket, key="k")["value"] == 2


def test_a_value_is_kept_for_its_time(env: FakeEnv, bucket: str) -> None:
    result_of(env, "kv_put", bucket=bucket, key="k", value=1, ttl="1s")
    for _ in range(300):
        if not result_of(env, "kv_keys", bucket=bucket)["keys"]:
            return
        waited(asyncio.sleep(0.05))
    raise AssertionError("the value did not go away")


def test_objects(env: FakeEnv, bucket: str) -> None:
    large = "x" * 300_000
    assert result_of(env, "object_put", bucket=bucket, key="a/ü b", value=large)["size"] == 300_000
    assert result_of(env, "object_get", bucket=bucket, key="a/ü b") == {
        "bucket": bucket, "key": "a/ü b", "value": large, "size": 300_000,
    }  # fmt: skip
    assert failed(ran(env, "object_get", bucket=bucket, key="no"))["code"] == "nats.not_found"
    call = call_of(
        "nats", {"operation": "object_get", "auth": "n", "bucket": bucket, "key": "a/ü b"}, knobs={"max_bytes": 9}
    )
    assert failed(waited(tool.run(call, env)))["code"] == "nats.too_large"


def test_a_message(env: FakeEnv) -> None:
    async def heard() -> bytes:
        async with connected() as client:
            subscription = await client.subscribe("test.heard")
            await client.flush()
            call = call_of("nats", {"operation": "publish", "auth": "n", "subject": "test.heard", "data": {"a": 1}})
            assert (await tool.run(call, env)).result == {"subject": "test.heard"}
            return (await subscription.next_msg(20)).data

    assert waited(heard()) == b'{"a": 1}'


def test_a_stream_drops_the_repeat_of_a_message(env: FakeEnv) -> None:
    async def made() -> None:
        async with connected() as client:
            await client.jetstream().add_stream(name="made", subjects=["made.>"])

    waited(made())
    fields: dict[str, Json] = {"subject": "made.x", "stream": "made", "data": "x"}
    wanted = {"subject": "made.x", "stream": "made", "sequence": 1}
    assert result_of(env, "publish", **fields) == wanted
    assert result_of(env, "publish", **fields) == wanted
    assert ran(env, "publish", subject="nobody.has.this", stream="made", data="x").status == "error"


def test_a_request(env: FakeEnv) -> None:
    async def replied() -> Outcome:
        async def doubled(message: Msg) -> None:
            await message.respond(message.data * 2)

        async with connected() as client:
            await client.subscribe("test.double", cb=doubled)
            await client.flush()
            call = call_of("nats", {"operation": "request", "auth": "n", "subject": "test.double", "data": "ab"})
            return await tool.run(call, env)

    assert waited(replied()).result == {"subject": "test.double", "value": "abab"}
    error = failed(ran(env, "request", subject="test.nobody", data="x"))
    assert (error["code"], error["retryable"]) == ("nats.no_responders", True)


def test_an_answer_that_does_not_come(env: FakeEnv) -> None:
    async def waiting() -> Outcome:
        async with connected() as client:
            await client.subscribe("test.silent")
            await client.flush()
            fields: dict[str, Json] = {"operation": "request", "auth": "n", "subject": "test.silent", "data": "x"}
            return await tool.run(call_of("nats", fields, timeout=0.3), env)

    assert failed(waited(waiting()))["code"] == "timeout"


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("kv_get", {"bucket": "b"}),
        ("kv_get", {"key": "k"}),
        ("kv_put", {"bucket": "b", "key": "k"}),
        ("kv_put", {"bucket": "b", "key": "a b", "value": 1}),
        ("kv_put", {"bucket": "b", "key": "a.*", "value": 1}),
        ("kv_put", {"bucket": "b.c", "key": "a", "value": 1}),
        ("kv_keys", {"bucket": "b", "key": "a.>.b"}),
        ("publish", {"subject": "a b", "data": 1}),
        ("publish", {"subject": "a\r\nPUB x", "data": 1}),
        ("publish", {"subject": "a.*", "data": 1}),
        ("drop", {}),
        ("kv_get", {"bucket": "b", "key": "k", "url": "http://x"}),
    ],
)
def test_what_cannot_be_asked_for(env: FakeEnv, operation: str, fields: dict[str, Json]) -> None:
    assert failed(ran(env, operation, **fields))["code"] == "fields.invalid"


def test_nothing_there(env: FakeEnv) -> None:
    assert failed(ran(env, "kv_get", bucket="never-made", key="k"))["code"] == "nats.not_found"
    error = failed(ran(env, "kv_keys", bucket="b", url="nats://u:hidden@127.0.0.1:1"))
    assert (error["code"], error["retryable"]) == ("nats.connect", True) and "hidden" not in str(error)


def test_the_fence_is_asked_about_the_server(env: FakeEnv) -> None:
    env.fenced = Egress().refusal
    error = failed(ran(env, "kv_keys", bucket="b"))
    assert error["code"] == "nats.refused" and "not public" in str(error["message"])
