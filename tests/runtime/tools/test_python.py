"""python: what code sees, what it gives, and that nothing of it outlives its time (LANGUAGE §7)."""

import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from base64 import b64encode
from pathlib import Path

import pytest

from noetl.tools import python
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, cancelled, ended, failed, gone, processes, running, waited


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path, {"api": {"token": "t-1"}})


def ran(
    env: FakeEnv,
    code: str,
    args: dict[str, Json] | None = None,
    *,
    scope: dict[str, Json] | None = None,
    knobs: dict[str, Json] | None = None,
    timeout: Json = None,
    **fields: Json,
) -> Outcome:
    written: dict[str, Json] = {"code": textwrap.dedent(code), **fields}
    return waited(python.run(call_of("python", written, args=args, knobs=knobs, timeout=timeout, scope=scope), env))


def slow_python(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by its own code."""
    return {"code": "import time; time.sleep(613)"}


@pytest.mark.parametrize(
    ("code", "args", "result"),
    [
        ("result = x + 1", {"x": 1}, 2),
        ("x = 1", {}, None),
        ("return x + 1", {"x": 1}, 2),
        ("result = 1\nreturn 2", {}, 1),
        ("result = 2\nreturn {'n': result}", {}, {"n": 2}),
        ("for result in [1, 2]:\n    if result == 2:\n        return [result]", {}, [2]),
        ("def main(x): return x", {"x": 7}, 7),
        ("def main(x):\n    return x\nresult = 1", {"x": 7}, 1),
        ("def main(x):\n    return x\nreturn 1", {"x": 7}, 1),
        ("def main(x, y=5): return [x, y]", {"x": 1, "z": 2}, [1, 5]),
        ("def main(input_data): return input_data", {"a": 1, "b": 2}, {"a": 1, "b": 2}),
        ("def main(input_data): return input_data", {"input_data": 3}, 3),
        ("def main(a, **rest): return [a, rest]", {"a": 1, "b": 2}, [1, {"b": 2}]),
        ("def main(a, /, *, b): return [a, b]", {"a": 1, "b": 2}, [1, 2]),
        ("async def main(x): return x", {"x": 4}, 4),
        ("def main(): return args", {"x": 4}, {"x": 4}),
        ("result = result + 1", {"result": 1}, 2),
        ("result = result", {"result": 5}, 5),
        ("x = 1", {"result": 5}, None),
        ("if result > 9:\n    result = 'large'", {"result": 5}, None),
        ("if result > 9:\n    result = 'large'", {"result": 10}, "large"),
        ("def f():\n    global result\n    result = result\nf()", {"result": 5}, 5),
        ("def main(result): return result + 1", {"result": 5}, 6),
        ("if result:\n    return result", {"result": 5}, 5),
        ("def main(x): return x", {"x": 1, "main": 2}, 1),
        ("x = main", {"main": 2}, None),
        ("def main(a, b=2, /, c=3): return [a, b, c]", {"a": 1, "c": 4}, [1, 2, 4]),
        ("def main(*rest, a): return [rest, a]", {"a": 1, "b": 2}, [[], 1]),
        ("def main(a, **rest): return rest", {"rest": 1, "a": 2, "self": 3}, {"rest": 1, "self": 3}),
        (
            "class main:\n    def __await__(self):\n        yield from ()\n        return self.a\n"
            "    def __init__(self, a): self.a = a",
            {"a": 1},
            1,
        ),
        ("from functools import partial\ndef f(a, b): return [a, b]\nmain = partial(f, b=2)", {"a": 1}, [1, 2]),
        ("result = len", {"len": 3}, 3),
        ("result = str(__builtins__)[:9] + str(abs(-x))", {"x": 1, "__builtins__": "no"}, "{'__name_1"),
        ("result = [__name__, __file__]", {"__name__": 1}, [1, "<code>"]),
    ],
)
def test_where_the_result_comes_from(env: FakeEnv, code: str, args: dict[str, Json], result: Json) -> None:
    assert ran(env, code, args).result == result


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("def f():\n    return y\ny = 5\nreturn f()", 5),
        ("y: int = 5\nz: int\nreturn y", 5),
        ("import os.path\nfor i in range(3):\n    if i == 2:\n        return [i, os.path.sep]", [2, "/"]),
        ("try:\n    return 1\nfinally:\n    x = 2", 1),
        ("with open('f', 'w') as f:\n    f.write('a')\nreturn f.closed", True),
        ("class A:\n    y: int = 1\nreturn A.y", 1),
        ("def f():\n    global n\n    n = 3\nf()\nreturn n", 3),
        ("return [(w := k) for k in range(3)] + [w]", [0, 1, 2, 2]),
        ("x = lambda: 3\nreturn x()", 3),
        ("if True:\n    return\nx = 1", None),
    ],
)
def test_a_top_level_return_changes_nothing_else(env: FakeEnv, code: str, result: Json) -> None:
    assert ran(env, code).result == result


def test_values_become_what_a_result_can_hold(env: FakeEnv) -> None:
    code = """
        import datetime, collections, enum
        class Level(enum.IntEnum):
            HIGH = 3
        P = collections.namedtuple("P", "x y")
        result = {"t": (1, (2,)), "d": datetime.date(2026, 1, 2), "at": datetime.datetime(2026, 1, 2, 3, 4, 5),
                  "e": Level.HIGH, "p": P(1, 2), "o": collections.OrderedDict(a=None), "big": 2**100,
                  "status": "error"}
    """
    assert ran(env, code).result == {
        "t": [1, [2]],
        "d": "2026-01-02",
        "at": "2026-01-02T03:04:05",
        "e": 3,
        "p": [1, 2],
        "o": {"a": None},
        "big": 2**100,
        "status": "error",
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("result = {'a': [1, b'x']}", "result.a[1] is of type bytes"),
        ("result = {1, 2}", "result is of type set"),
        ("result = [float('nan')]", "result[0] is nan"),
        ("result = {'a': {(1, 2): 2}}", "result.a has a key that no result can hold, of type tuple"),
        ("result = {b'a': 2}", "result has a key that no result can hold, of type bytes"),
        ("result = {float('inf'): 2}", "result has a key that no result can hold, of type float"),
        ("result = {10 ** 5000: 2}", "result has a key that no result can hold, of type int"),
        ("result = {'a': {1: 2, '1': 3}}", "result.a has two keys that are both written '1'"),
        ("result = {None: 2, 'null': 3}", "result has two keys that are both written 'null'"),
        ("result = {'a': {False: b'x'}}", "result.a.false is of type bytes"),
        ("import decimal; result = decimal.Decimal(1)", "result is of type decimal.Decimal"),
        ("a = []; a.append(a); result = a", "nested too deeply"),
        ("result = 10 ** 5000", "too many digits"),
    ],
)
def test_a_value_that_no_result_holds_names_its_path(env: FakeEnv, code: str, message: str) -> None:
    error = failed(ran(env, code))
    assert error["code"] == "result.type"
    assert message in str(error["message"])


def test_keys_are_text_as_json_writes_them(env: FakeEnv) -> None:
    code = "import enum, json\nclass Level(enum.IntEnum):\n    HIGH = 3\n"
    code += "given = {1: 'a', -2: 'b', True: 'c', None: 'd', 1.5: 'e', Level.HIGH: 'f', 2**70: {0: 'g'}}\n"
    result = ran(env, f"{code}result = [given, json.dumps(given)]").result
    assert isinstance(result, list)
    assert result[0] == json.loads(str(result[1]))


def test_an_exception_names_its_type_and_line(env: FakeEnv) -> None:
    outcome = ran(env, "def f():\n    raise ValueError('no')\n\nf()")
    raised = {"code": "python.exception", "message": "no", "retryable": False, "type": "ValueError", "line": 2}
    assert failed(outcome) == raised
    assert outcome.extras == {"py": {"exception_type": "ValueError"}}


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("x = 1\nx = ", "python.syntax", 2),
        ("raise SystemExit(3)", "python.exception", 1),
        ("\nimport nothing_of_that_name", "python.exception", 2),
        ("def f():\n    f()\nf()", "python.exception", 2),
        ("yield 1", "python.syntax", 1),
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E()", "python.exception", 3),
        ("def main(needed): pass", "python.exception", None),
        ("input()", "python.exception", 1),
    ],
)
def test_every_way_to_fail_is_an_outcome(env: FakeEnv, code: str, kind: str, line: int | None) -> None:
    error = failed(ran(env, code))
    assert (error["code"], error.get("line")) == (kind, line)


def test_scenario_92_nul_and_lone_surrogates_survive(env: FakeEnv) -> None:
    assert ran(env, "result = 'a' + chr(0) + 'b' + x", {"x": "\ud800"}).result == "a\0b\ud800"
    outcome = ran(env, "raise ValueError(chr(0) + chr(0xD800))")
    assert failed(outcome)["message"] == "\0\ud800"
    pack(outcome.as_json())


def test_scenario_58_null_inside_an_object_stays_null(env: FakeEnv) -> None:
    body: Json = {"cursor": None, "items": [None, {"x": None}]}
    outcome = ran(env, "result = [resp['cursor'] is None, resp['items'][0] is None, resp]", {"resp": body})
    assert outcome.result == [True, True, body]


def test_scenario_66_code_is_never_a_template(env: FakeEnv) -> None:
    assert ran(env, "result = '{%d}' % 3").result == "{3}"


def test_scenario_72_code_and_key_names_are_left_alone(env: FakeEnv) -> None:
    code = "u = f'https://x.test/?key={1}'; result = {'auth_mode': 'basic', 'token': a, 'u': u}"
    expected = {"auth_mode": "basic", "token": "abc-1", "u": "https://x.test/?key=1"}
    assert ran(env, code, {"a": "abc-1"}).result == expected


def test_prints_go_to_the_log(env: FakeEnv) -> None:
    code = """
        import os, sys
        print("one"); print("two", file=sys.stderr); os.write(1, b"three\\n"); print("no end", end="")
        sys.stdout.close()
        result = 1
    """
    assert ran(env, code).result == 1
    assert sorted(env.lines) == ["no end", "one", "three", "two"]


def test_libs_and_auth(env: FakeEnv) -> None:
    libs: Json = {"m": "math", "dt": {"from": "datetime", "import": "date"}}
    assert ran(env, "result = [m.floor(1.5), dt(2026, 1, 2)]", libs=libs).result == [1, "2026-01-02"]
    assert ran(env, "result = json.dumps([])", libs=["json"]).result == "[]"
    assert ran(env, "result = auth['token']", auth="api").result == "t-1"
    assert ran(env, "result = auth['a']['token']", auth={"a": "api"}).result == "t-1"
    assert failed(ran(env, "result = 1", libs=["nothing_of_that_name"]))["code"] == "python.import"
    assert failed(ran(env, "result = 1", libs=["os; import sys"]))["code"] == "python.exception"
    assert failed(ran(env, "result = 1", auth="none"))["code"] == "credential.missing"


def test_code_from_base64_and_from_a_file_inside_the_root(env: FakeEnv, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("result = 8")
    encoded = b64encode(b"result = 9").decode()
    assert waited(python.run(call_of("python", {"code_b64": encoded}), env)).result == 9
    assert waited(python.run(call_of("python", {"script": "main.py"}), env)).result == 8
    by_uri: Json = {"uri": "main.py", "source": {"type": "file"}}
    assert waited(python.run(call_of("python", {"script": by_uri}), env)).result == 8
    for refused in ("../main.py", "missing.py", {"uri": "x", "source": {"type": "gcs"}}):
        outcome = waited(python.run(call_of("python", {"script": refused}), env))
        assert failed(outcome)["code"] == "file.refused"


def test_one_run_leaves_nothing_to_the_next(env: FakeEnv) -> None:
    ran(env, "import os, sys; leaked = 1; os.environ['LEAK'] = '1'; sys.path.append('/leak'); os.chdir('/')")
    code = "import os, sys; result = ['leaked' in globals(), 'LEAK' in os.environ, '/leak' in sys.path, os.getcwd()]"
    assert ran(env, code).result == [False, False, False, os.path.realpath(env.root())]


HOUR = time.localtime(0).tm_hour
LIMITS = "resource.getrlimit(resource.RLIMIT_NOFILE)"
LIMITED = f"import resource\nlimits = {LIMITS}\nresource.setrlimit(resource.RLIMIT_NOFILE, ("


@pytest.mark.parametrize(
    ("code", "seen", "fresh"),
    [
        ("import builtins; builtins.len = lambda x: 3", "len('')", 0),
        ("import builtins; del builtins.len, builtins.all, builtins.vars, builtins.str", "len('')", 0),
        ("import builtins; builtins.kept = 'secret'", "'kept' in vars(__import__('builtins'))", False),
        (
            "import builtins\nclass Same:\n    def __eq__(self, other): raise SystemExit\nbuiltins.str = Same()",
            "str(1)",
            "1",
        ),
        ("import sys; sys.modules['json'] = 1", "type(__import__('json')).__name__", "module"),
        ("from decimal import getcontext; getcontext().prec = 3", "str(__import__('decimal').getcontext().prec)", "28"),
        ("import sys; sys.setrecursionlimit(70)", "__import__('sys').getrecursionlimit()", sys.getrecursionlimit()),
        ("import sys; sys.argv.append('--x')", "__import__('sys').argv", ["playbook"]),
        ("import sys; sys.settrace(lambda *args: None)", "__import__('sys').gettrace()", None),
        ("import gc; gc.disable()", "__import__('gc').isenabled()", True),
        ("import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "int(__import__('signal').getsignal(10))", 0),
        ("import signal; signal.alarm(50)", "__import__('signal').alarm(0)", 0),
        ("import os, time\nos.environ['TZ'] = 'XYZ-9'\ntime.tzset()", "time.localtime(0).tm_hour", HOUR),
        ("import os, time\nos.environ['TZ'] = 'XYZ-9'\ntime.strftime('%H')", "time.localtime(0).tm_hour", HOUR),
        ("import sys; sys.set_int_max_str_digits(0)", "__import__('sys').get_int_max_str_digits()", 4300),
        ("import sys, io; sys.stdin = io.StringIO('kept')", "__import__('sys').stdin.fileno()", 0),
        ("import sys; sys.stdout.reconfigure(encoding='latin-1')", "__import__('sys').stdout.encoding", "utf-8"),
        (
            "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
            "os.path.samestat(os.stat('/dev/null'), os.fstat(1))",
            False,
        ),
        ("import gc; gc.set_threshold(7)", "__import__('gc').get_threshold()[0]", gc.get_threshold()[0]),
        ("import gc; gc.callbacks.append(print)", "__import__('gc').callbacks", []),
        ("import signal; signal.pthread_sigmask(0, [10])", "[*map(int, signal.pthread_sigmask(0, []))]", []),
        ("import os; os.nice(2)", "os.nice(0)", os.nice(0)),
        (f"{LIMITED}50, limits[1]))", f"{LIMITS}[0]", resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        (f"{LIMITED}100, 100))", f"{LIMITS}[1]", resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        ("import os; kept = [os.open('/dev/null', 0) for _ in range(200)]", "len(os.listdir('/dev/fd')) > 100", False),
        (
            "import _thread, time; _thread.start_new_thread(time.sleep, (60,)); time.sleep(0.05)",
            "__import__('_thread')._count()",
            0,
        ),
    ],
)
def test_what_a_run_changed_of_the_interpreter_is_gone(env: FakeEnv, code: str, seen: str, fresh: Json) -> None:
    ran(env, "import json, decimal, signal")  # what the interpreter that runs both has loaded
    changing = ran(env, f"{code}\nresult = 1")
    assert changing.result == 1, "what it changed takes nothing from its own outcome"
    assert ran(env, f"import os, time, signal, resource\nresult = {seen}").result == fresh


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio, subprocess, json, re, datetime, locale, logging, urllib.request, decimal, csv, sqlite3",
        "import httpx, duckdb",
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as pool: pool.submit(str, 1)",
        "import subprocess; subprocess.run(['true'], check=True)",
    ],
)
def test_what_leaves_nothing_has_the_same_interpreter_next(env: FakeEnv, code: str) -> None:
    python.close()  # of one that has it loaded nothing could be told
    pid = "__import__('os').getpid()"
    assert ran(env, f"import os\n{code}\nresult = os.getpid()").result == ran(env, f"result = {pid}").result


def test_a_mask_of_files_is_gone_with_its_run(env: FakeEnv, tmp_path: Path) -> None:
    ran(env, "import os; os.umask(0o777)")
    ran(env, "open('made', 'w').close()")
    usual = os.umask(0o077)
    os.umask(usual)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o666 & ~usual


def test_a_seed_is_gone_with_its_run(env: FakeEnv) -> None:
    code = "import os, random\nif seed: random.seed(7)\nresult = [os.getpid(), random.random()]"
    first, second = (ran(env, code, {"seed": seed}).result for seed in (True, False))
    assert isinstance(first, list) and isinstance(second, list)
    assert first[0] == second[0], "the same interpreter"
    again = ran(env, "import random; random.seed(7); random.random(); result = random.random()").result
    assert second[1] != again, "not the row that the first began"


def test_what_is_ours_is_not_in_its_environment(env: FakeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["NOETL_CREDENTIAL_KEY", "NOETL_TOKEN", "NOETL_BUS", "PGPASSWORD"]
    for name in names:
        monkeypatch.setenv(name, "k")
    python.close()
    assert ran(env, f"import os; result = sorted(set(os.environ) & {set(names)})").result == []


def test_the_action_is_in_its_environment(env: FakeEnv) -> None:
    assert ran(env, "import os; result = os.environ['NOETL_ACTION_ID']").result == "act-1"


def test_a_timeout_kills_the_code_and_its_children(env: FakeEnv) -> None:
    code = "import subprocess; subprocess.run(['sleep', '611.1'])"
    error = failed(ran(env, code, timeout=0.4))
    assert (error["code"], error["retryable"]) == ("timeout", True)
    assert gone("sleep 611.1")


def test_a_cancellation_kills_the_code_and_its_children(env: FakeEnv) -> None:
    code = "import subprocess\nwhile True:\n    subprocess.run(['sleep', '611.2'])"
    waited(cancelled(python.run(call_of("python", {"code": code}), env), lambda: bool(running("sleep 611.2"))))
    assert gone("sleep 611.2")


def test_what_the_code_leaves_running_is_killed(env: FakeEnv) -> None:
    code = "import subprocess; result = subprocess.Popen(['sleep', '611.3']).pid"
    assert ran(env, code).status == "ok"
    assert gone("sleep 611.3")


def test_a_crash_is_an_outcome_and_the_next_run_works(env: FakeEnv) -> None:
    error = failed(ran(env, "import os; os._exit(3)"))
    assert (error["code"], "exit code 3" in str(error["message"])) == ("python.died", True)
    assert error["retryable"] is False
    error = failed(ran(env, "import os, signal; os.kill(os.getpid(), 11)"))
    assert ("signal 11" in str(error["message"]), error["retryable"]) == (True, True)
    assert ran(env, "result = 1").result == 1


def test_memory_and_result_are_bounded(env: FakeEnv) -> None:
    outcome = ran(env, "x = 'a' * 10**9", knobs={"memory": "300M"})
    assert outcome.extras == {"py": {"exception_type": "MemoryError"}}
    assert ran(env, "result = len('a' * 10**7)", knobs={"memory": "300M"}).result == 10**7
    error = failed(ran(env, "result = 'a' * 1000", knobs={"max_result_bytes": 100}))
    assert error["code"] == "result.size"
    assert failed(ran(env, "result = 1", knobs={"memory": "lots"}))["code"] == "fields.invalid"


def test_a_subprocess_is_used_again(env: FakeEnv) -> None:
    first, second = (ran(env, "import os; result = os.getpid()").result for _ in range(2))
    assert first == second


def test_several_run_at_once(env: FakeEnv) -> None:
    async def all_three() -> list[Outcome]:
        code = "import os, time\nopen(str(x), 'w')\nwhile len(os.listdir()) < 3: time.sleep(0.001)\nresult = x"
        calls = [python.run(call_of("python", {"code": code}, args={"x": x}, timeout=20), env) for x in range(3)]
        return await asyncio.gather(*calls)

    assert [outcome.result for outcome in waited(all_three())] == [0, 1, 2]


def test_it_dies_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    code = "import subprocess\nsubprocess.run(['sleep', '611.4'])"
    program = f"""
import asyncio, sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from noetl.tools import python
from tool_doubles import FakeEnv, call_of
python.warm(2)
asyncio.run(python.run(call_of("python", {{"code": {code!r}}}), FakeEnv(Path({str(tmp_path)!r}))))
"""
    worker = subprocess.Popen([sys.executable, "-c", program])
    try:
        while not running("sleep 611.4"):
            assert worker.poll() is None
        children = [number for number, (parent, _) in processes().items() if parent == worker.pid]
        assert len(children) >= 2
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert gone("sleep 611.4")
    assert all(ended(number) for number in children)
