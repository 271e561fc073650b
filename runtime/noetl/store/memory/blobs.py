"""The blobs in memory."""

from collections.abc import Mapping

from noetl.host.confined_files import file_name_of
from noetl_ir.expr import Json
from noetl_ir.outcome import reference


class MemoryBlobs:
    """`Blobs` in a dictionary."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        import hashlib

        checksum = hashlib.sha256(data).hexdigest()
        key = f"{file_name_of(execution_id)}/{checksum}"
        self._data[key] = data
        return reference(store="memory", key=key, size=len(data), checksum=checksum)

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""
        prefix = f"{file_name_of(execution_id)}/"
        gone = [key for key in self._data if key.startswith(prefix)]
        return sum([len(self._data.pop(key)) for key in gone])

    def get(self, reference: Mapping[str, Json]) -> bytes:
        import hashlib

        data = self._data.get(str(reference.get("key")))
        if data is None:
            raise KeyError(f"there is no blob {reference.get('key')!r}")
        if len(data) != reference.get("size") or hashlib.sha256(data).hexdigest() != reference.get("checksum"):
            raise KeyError(f"blob {reference.get('key')!r} is not what the reference says")
        return data

    def check_room(self, *, suspected: bool) -> None:
        """There always is some."""

    def close(self) -> None:
        """Nothing is open."""
