"""Claims that cannot be guessed: an order carries the message authentication code of its claim (HMAC, RFC 2104), and
what a worker says of the claim has to carry it too.

The claim itself is a small number, which fences off whoever had the attempt before. Without the code anybody who can
speak on the bus could report under it. What tasks print goes over HTTP, with a code of its own: of the step, run and
iteration that it is said to be of. Servers of a store share the key, so any of them knows what another one ordered.
Whoever can read the orders of a pool has its codes: that is for the permissions of the bus (`noetl bus permissions`).
"""

from collections.abc import Callable
from typing import TypeVar

from noetl.ports.output import OutputChunk
from noetl_ir.events import index_of
from noetl_ir.orders import LeaseHeartbeat, Report, RunPipeline, StopPipeline, claim_code

SignedOrder = TypeVar("SignedOrder", RunPipeline, StopPipeline)

BYTES = 16
"""How much of a code is used: what nobody finds by trying."""


class Macs:
    """Makes and checks codes. `key` gives the key of the store, and is asked once."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._ask = key
        self._key: bytes | None = None

    def stamped(self, order: SignedOrder) -> SignedOrder:
        """The order with the codes of its claim and of its output. Raises StoreFailure."""
        code = self._of(order.execution_id, order.run, order.claim)
        if isinstance(order, RunPipeline):
            place = order.execution_id, order.step, order.ordinal, index_of(order.run), order.claim
            code = f"{code}.{self.of_output(*place)}"
        return order._replace(mac=code)

    def is_fit(self, said: Report | LeaseHeartbeat) -> bool:
        """Whether a worker has the order of the claim that it names. Raises StoreFailure."""
        return _same(self._of(said.execution_id, said.run, said.claim), claim_code(said.mac))

    def is_output_fit(self, chunk: OutputChunk, step: int) -> bool:
        """Whether who hands in output of the step of that number has the order that it is of. Raises StoreFailure."""
        return _same(self.of_output(chunk.execution_id, step, chunk.run, chunk.path, chunk.claim), chunk.mac)

    def _of(self, execution_id: str, run: str, claim: int) -> str:
        return self._code(f"{execution_id}\n{run}\n{claim}")

    def of_output(self, execution_id: str, step: int, ordinal: int, path: tuple[int, ...], claim: int) -> str:
        """The code of the output of a step's run and iteration under a claim, by what a piece of it names."""
        return self._code(f"output\n{execution_id}\n{step}\n{ordinal}\n{path}\n{claim}")

    def _code(self, about: str) -> str:
        from hmac import digest  # not at the start of who has no workers elsewhere

        if self._key is None:
            self._key = self._ask()
        return digest(self._key, about.encode("utf-8", "surrogatepass"), "sha256")[:BYTES].hex()


def _same(expected: str, said: str) -> bool:
    from hmac import compare_digest

    return compare_digest(expected.encode(), said.encode("utf-8", "replace"))
