"""An event loop whose connections go to allowed addresses only, whatever a driver does in it."""

import asyncio
from typing import Any

from noetl.clients.egress import NotAllowed, address_of
from noetl.ports import Fence


class FencedLoop(asyncio.SelectorEventLoop):
    """A loop inside a fence. The driver of NATS connects again by itself, also to servers that others have told it of:
    to check the address of a document alone would leave those.
    """

    def __init__(self, fence: Fence) -> None:
        super().__init__()
        self._fence = fence

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        """That of asyncio, to the address that was checked: a name could lead elsewhere at the next look-up."""
        if not isinstance(host, str) or not isinstance(port, int):
            raise NotAllowed("there is no host and port to check")
        address = await address_of(host, port, self._fence)
        return await super().create_connection(protocol_factory, address, port, **options)
