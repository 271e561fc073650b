"""Text in XML and HTML."""


def escaped_xml(text: str) -> str:
    """The text with nothing in it that markup could be read from, in content or in an attribute with double quotes."""
    text = "".join([char if _is_legal(char) else "\ufffd" for char in text])
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def _is_legal(char: str) -> bool:
    """XML 1.0, production 2; line breaks and tabs stay."""
    if char < " ":
        return char in "\n\t"
    return not "\ud800" <= char <= "\udfff" and char not in "\ufffe\uffff"


def number(value: float) -> str:
    """A coordinate, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")
