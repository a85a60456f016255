"""Memory of the process."""

import ctypes

# Parameters of glibc's mallopt, and their values in bytes.
KEPT = {-3: 1 << 25, -1: 1 << 28}  # larger blocks are given back alone (M_MMAP_THRESHOLD), more at the end (M_TRIM_THRESHOLD)


def keep_freed_memory() -> None:
    """Let the C library reuse freed memory: the system provides fresh memory slower than a job fills it."""
    if change := getattr(ctypes.CDLL(None), "mallopt", None):  # only glibc has it
        for parameter, value in KEPT.items():
            change(parameter, value)
