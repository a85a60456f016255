"""Processors of another vendor, by which the library of products is chosen."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from beirflow.run import devices
from beirflow.run.hardware import FLAGS
from listening import heard

AMD, INTEL = "AuthenticAMD", "GenuineIntel"


@contextmanager
def processor_of(vendor: str) -> Iterator[list[Any]]:
    """Take this processor for one with AVX-512; the list grows by the shape of the matrix of each product of oneDNN."""
    facts = {"vendor_id": vendor, FLAGS: "fpu avx2 avx512f avx512bw"}
    devices.prefers_onednn.cache_clear()
    try:
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(devices, "of_processor", facts.__getitem__)
            if devices.prefers_onednn() is (vendor != AMD):
                pytest.skip("this torch has no MKL, or no oneDNN")
            yield heard(monkeypatch, devices, "_multiply_by_onednn", lambda vectors, matrix, bias=None: tuple(matrix.shape))
    finally:
        devices.prefers_onednn.cache_clear()
