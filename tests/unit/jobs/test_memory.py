"""Free memory, as the system says it."""

from pathlib import Path

from beirflow.jobs.memory import available_memory


def test_memory_is_what_the_system_says(tmp_path: Path) -> None:
    facts = tmp_path / "meminfo"
    facts.write_text("MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n")
    assert available_memory(facts) == 2 << 20


def test_nothing_is_known_where_the_system_says_nothing(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "nothing") is None
