"""A connection that can be cut: a proxy that passes everything on, until it keeps all of it to itself."""

import asyncio
import threading
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from pathlib import Path


class Proxy:
    """Passes on what comes at its port to an address: a host and port, or a socket of this machine.

    While cut it is silent: nobody is told that nothing arrives, and what is sent arrives once it is mended, as TCP has
    it.
    """

    def __init__(self, to: tuple[str, int] | Path) -> None:
        self._to = to
        self._loop = asyncio.new_event_loop()
        self._whole = asyncio.Event()
        self._whole.set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        opening = asyncio.start_server(self._pass, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(10)
        self.port = int(self._server.sockets[0].getsockname()[1])

    def cut(self) -> None:
        """Nothing arrives from now on."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def mend(self) -> None:
        """Everything arrives again."""
        self._loop.call_soon_threadsafe(self._whole.set)

    def close(self) -> None:
        """End all connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        passing = asyncio.all_tasks() - {asyncio.current_task()}
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)
        await asyncio.sleep(0)  # a transport that was aborted closes its socket in the next turn

    async def _pass(self, reader: StreamReader, writer: StreamWriter) -> None:
        ends = [writer]
        try:
            await self._whole.wait()
            with suppress(OSError):
                if isinstance(self._to, Path):
                    there = await asyncio.open_unix_connection(self._to)
                else:
                    there = await asyncio.open_connection(*self._to)
                ends.append(there[1])
                await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))
        finally:
            for end in ends:
                end.transport.abort()

    async def _pump(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        await self._whole.wait()
        writer.close()
