"""Text as PostgreSQL can keep it: without NUL. `\\0` stands for one and `\\\\` for a backslash, so nothing is lost."""


def written(text: str) -> str:
    """The stored form of a text; equal texts, and no others, have equal forms."""
    if "\\" in text or "\0" in text:
        return text.replace("\\", "\\\\").replace("\0", "\\0")
    return text


def read(stored: str) -> str:
    """The text of a stored form."""
    if "\\" in stored:
        return "\\".join(part.replace("\\0", "\0") for part in stored.split("\\\\"))
    return stored
