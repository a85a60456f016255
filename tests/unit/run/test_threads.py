"""Work is shared among threads in equal parts."""

from collections.abc import Iterator

import pytest
import torch

from beirflow.run.threads import Threads

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def threads_of_torch() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("count", "most", "threads"), [(0, 3, 2), (1, 3, 2), (7, 3, 2), (6, 3, 2), (1000, 512, 2), (5, 9, 8)])
def test_work_is_shared_in_equal_parts(count: int, most: int, threads: int) -> None:
    torch.set_num_threads(threads)
    found: list[slice] = []
    with Threads(CPU) as shared:
        shared.share(found.append, count, most)
    parts = sorted((part.start, part.stop) for part in found)
    assert [number for part in parts for number in range(*part)] == list(range(count))
    assert max((stop - start for start, stop in parts), default=0) <= most
    assert len(parts) >= min(count, threads)


@pytest.mark.parametrize(("on_host", "parts"), [(True, 8), (False, 1)])
def test_beside_a_gpu_all_threads_share_the_work_of_the_host(on_host: bool, parts: int) -> None:
    torch.set_num_threads(8)
    found: list[slice] = []
    with Threads(torch.device("cuda")) as shared:
        shared.share(found.append, 64, 64, on_host=on_host)
    assert len(found) == parts
