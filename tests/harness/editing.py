"""Texts of playbooks edited at random, as somebody types, pastes and deletes."""

from random import Random

SPLICES = (
    ":", "- ", "\n", "{", "}", "'", '"', "  ", "\t", "{{ ", " }}", "[", "&a ", "*a", "#", "é", "🦊", "workload.",
    "step: start", "next:", "\r\n", "---\n", "\x00", "? ", "|\n", "!!int ",
)  # fmt: skip


def edited(random: Random, text: str) -> str:
    """The text with something put in, for nothing or for some characters at its place."""
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.choice((0, 0, 1, 3, 30)))
    return text[:start] + random.choice((*SPLICES, text[random.randrange(len(text) + 1) :][:40])) + text[end:]


def typed(random: Random, text: str) -> str:
    """The text with a few characters of a line changed; no line begins or ends elsewhere."""
    start = random.randrange(len(text) + 1)
    end = text.find("\n", start, start + random.choice((0, 1, 3)))
    end = start if end < 0 else end
    return text[:start] + random.choice((*"ab:1,\"'#-", " ", "yes", "{{ ctx.a }}", "x: 1", "[a]", "010")) + text[end:]
