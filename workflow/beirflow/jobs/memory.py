"""The free memory of this machine."""

from pathlib import Path

FACTS = Path("/proc/meminfo")
"""Where Linux says it, in KiB."""

AVAILABLE = "MemAvailable:"


def available_memory(facts: Path = FACTS) -> int | None:
    """Memory that a process can take before others are swapped out.

    Args:
        facts: Where the system says it.

    Returns:
        Bytes; None where the system does not say it.
    """
    lines = facts.read_text(encoding="ascii").splitlines() if facts.is_file() else []
    said = next((line.split() for line in lines if line.startswith(AVAILABLE)), None)
    return int(said[1]) << 10 if said else None
