"""The pretended device copies beside the host, as a real one does."""

import pytest
import torch

from pretended_cuda import pretended_cuda

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a real device here")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_numbers_that_the_host_does_not_wait_for_are_others(dtype: torch.dtype) -> None:
    with pretended_cuda(), torch.inference_mode():
        there = torch.ones(3, dtype=dtype).to("cuda")
        here = torch.empty(3, dtype=dtype, pin_memory=True).copy_(there, non_blocking=True)
        event = torch.cuda.current_stream().record_event()
        later = torch.empty(3, dtype=dtype, pin_memory=True).copy_(there, non_blocking=True)
        assert not (here == 1).any()
        event.synchronize()
        assert (here == 1).all()
        assert not (later == 1).any()
        torch.cuda.synchronize()
        assert (later == 1).all()


def test_memory_that_changes_before_it_is_copied_is_an_error() -> None:
    with pretended_cuda():
        here = torch.zeros(3, pin_memory=True)
        here.to("cuda", non_blocking=True)
        here[0] = 1
        with pytest.raises(RuntimeError, match="pinned memory was changed before it was copied"):
            torch.cuda.synchronize()


def test_the_middle_of_pinned_memory_in_another_tensor_is_an_error() -> None:
    """torch finds memory that is in use by its tensor or its first address; its own slices know their tensor."""
    with pretended_cuda():
        here = torch.zeros(8, pin_memory=True)
        here[4:].to("cuda", non_blocking=True)
        torch.from_numpy(here.numpy()).to("cuda", non_blocking=True)
        with pytest.raises(RuntimeError, match="does not find the middle of pinned memory"):
            torch.from_numpy(here.numpy()[4:]).to("cuda", non_blocking=True)
