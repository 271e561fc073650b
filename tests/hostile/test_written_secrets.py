"""A secret is hidden as Python's own messages write it, too: quotes and backslashes as in a literal."""

import pytest

from noetl.worker.redaction import Redactor


@pytest.mark.parametrize(
    "secret", ['double "quote" \\ and more', "single 'quote' \\ and more", "line\nand\\tab\t\x00 é"]
)
def test_a_secret_in_an_error_of_python(secret: str) -> None:
    redactor = Redactor(b"k" * 32, lambda entry, field: secret)
    redactor.learn([("token", "value", secret)])
    said = f"KeyError: {secret!r} of {[secret]!r}"
    hidden = redactor.redact(said)
    assert isinstance(hidden, str)
    assert repr(secret)[1:-1] not in hidden
    assert hidden.count("[[secret:token:value:") == 2
    assert redactor.restore(hidden) == said
