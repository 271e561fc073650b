"""Claims that cannot be guessed: an order carries the message authentication code of its claim (HMAC, RFC 2104), and
what a worker says of the claim has to carry it too.

The claim itself is a small number, which fences off whoever had the attempt before. Without the code anybody who can
speak on the bus could report under it. Servers of a store share the key, so any of them knows what another one ordered.
Whoever can read the orders of a pool has its codes: that is for the permissions of the bus (`noetl bus permissions`).
"""

from collections.abc import Callable
from typing import TypeVar

from noetl_ir.orders import LeaseHeartbeat, Report, RunPipeline, StopPipeline

SignedOrder = TypeVar("SignedOrder", RunPipeline, StopPipeline)

BYTES = 16
"""How much of a code is used: what nobody finds by trying."""


class Macs:
    """Makes and checks codes. `key` gives the key of the store, and is asked once."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._ask = key
        self._key: bytes | None = None

    def stamped(self, order: SignedOrder) -> SignedOrder:
        """The order with the code of its claim. Raises StoreFailure."""
        return order._replace(mac=self._of(order.execution_id, order.run, order.claim))

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        """Whether a worker has the order of the claim that it names. Raises StoreFailure."""
        from hmac import compare_digest  # not at the start of who has no workers elsewhere

        expected = self._of(said.execution_id, said.run, said.claim)
        return compare_digest(expected.encode(), said.mac.encode("utf-8", "replace"))

    def _of(self, execution_id: str, run: str, claim: int) -> str:
        from hmac import digest

        if self._key is None:
            self._key = self._ask()
        about = f"{execution_id}\n{run}\n{claim}".encode("utf-8", "surrogatepass")
        return digest(self._key, about, "sha256")[:BYTES].hex()
