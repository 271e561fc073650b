"""SHA-256 is that of FIPS 180-4, whoever computes it."""

import subprocess
import sys

import pytest

# FIPS 180-4, examples of NIST: the empty message, one block, two blocks, a million letters.
KNOWN = {
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    b"a" * 1_000_000: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
}
CODE = """
import sys
from noetl_ir.digests import sha256
size = int(sys.argv[1])
if sys.argv[2] == "loaded":
    import hashlib
digest = sha256(size)
data = sys.stdin.buffer.read()
digest.update(data[:1])
digest.update(memoryview(data)[1:])
print(digest.hexdigest(), digest.digest().hex(), "hashlib" in sys.modules)
"""


@pytest.mark.parametrize("data", KNOWN, ids=len)
@pytest.mark.parametrize(("size", "how"), [(0, "plain"), (0, "loaded"), (1 << 20, "plain")])
def test_it_is_what_the_standard_says(data: bytes, size: int, how: str) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, str(size), how], input=data, capture_output=True, check=True)
    expected = KNOWN[data]
    found, raw, loaded = done.stdout.decode().split()
    assert found == raw == expected
    if sys.implementation.name == "cpython":
        assert (loaded == "True") == (how == "loaded" or size > 0), "OpenSSL is loaded where it is worth it"
