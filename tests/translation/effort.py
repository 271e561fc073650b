"""How many random cases: a few with a fixed seed, or as many as `TRANSLATION_CASES` says, other ones each time."""

import os

from hypothesis import HealthCheck, Phase, settings

_ASKED = int(os.environ.get("TRANSLATION_CASES", "0"))


def effort(usual: int) -> settings:
    """The settings of a property with so many cases in the usual run."""
    return settings(
        max_examples=_ASKED or usual,
        derandomize=not _ASKED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
