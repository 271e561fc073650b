"""Processor time of an HTTP request, by httpx itself and by the tool, in turn in one process.

    python -m benchmarks.requesting ROUNDS

Both ask a server on this machine, in a process of its own, for a small JSON document. Prints one JSON line: seconds of
processor time a call of each round, by name.
"""

import asyncio
import json
import subprocess
import sys
import time
from types import SimpleNamespace

import httpx

from noetl.ports import ToolCall
from noetl.tools import http

_CALLS = 150
_SERVER = """
import asyncio
ANSWER = b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: 12\\r\\n\\r\\n{"ok": true}'
class Answering(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.come = transport, b""
    def data_received(self, data):
        *asked, self.come = (self.come + data).split(b"\\r\\n\\r\\n")
        self.transport.write(ANSWER * len(asked))
async def main():
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


async def _by_httpx(url: str) -> float:
    async with httpx.AsyncClient() as client:
        begun = time.process_time()
        for _ in range(_CALLS):
            response = await client.get(url)
            assert response.json() == {"ok": True}
        return (time.process_time() - begun) / _CALLS


async def _by_tool(url: str) -> float:
    env = SimpleNamespace(fence=lambda: None, holds_secret=lambda text: False)
    call = ToolCall("1", "step", "task", "http", {"url": url}, {}, {}, None, "a", 1, {})
    begun = time.process_time()
    for _ in range(_CALLS):
        outcome = await http.run(call, env)
        assert outcome.result["data"] == {"ok": True}, outcome
    return (time.process_time() - begun) / _CALLS


def main() -> None:
    figures: dict[str, list[float]] = {"httpx": [], "tool": []}
    with subprocess.Popen([sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, text=True) as server:
        try:
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}/"
            asyncio.run(_by_tool(url))  # imports, and the certificates
            for _ in range(int(sys.argv[1])):
                # In turn, so that a slow moment of the machine falls on both.
                figures["httpx"].append(asyncio.run(_by_httpx(url)))
                figures["tool"].append(asyncio.run(_by_tool(url)))
        finally:
            server.kill()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
