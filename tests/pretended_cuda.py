"""A pretended CUDA device: tensors whose storage is marked say that they are on it, and the CPU computes their numbers.

It raises the errors that CUDA raises: tensors of two devices in one operation, numpy of a device tensor, too little memory. It
counts what costs time on a real device: kernels, copies between host and device, and synchronisations, at which the host waits.
Kernels that exist on CUDA alone are computed in another way, so it shows nothing about their numbers or speed.
"""

import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
MEMORY = 80 << 30

WAITING = {
    *("_local_scalar_dense", "bincount", "equal", "masked_select", "nonzero", "unique_consecutive", "unique_dim", "_unique2"),
    *("is_nonzero", "item"),
}
"""Operations whose result the host must know to continue; the last are made of others, except in inference mode."""

MASKED = {"index", "index_put", "index_put_", "_index_put_impl_"}
"""Operations with indices: a mask among them is first converted to numbers, whose count the host must know."""

counts: Counter[str] = Counter()
"""``synchronisations``, ``copies`` between host and device, and ``kernels`` so far."""

_pinned: dict[int, int] = {}  # bytes of pinned memory, by its first address
_unfinished: list[Callable[[], object]] = []  # copies that the device makes beside the host, each done when the host waits for it
_copying = threading.RLock()
_state: dict[str, Any] = {"sync debug": "default", "limit": MEMORY, "used": 0}
_device_of: Any = torch._C.TensorBase.device


def on_device(tensor: torch.Tensor) -> bool:
    """Test whether the pretended device holds a tensor."""
    return tensor.layout is torch.strided and getattr(tensor.untyped_storage(), "on_device", False)


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """List the tensors among arguments, also those in lists."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _is_pinned(tensor: torch.Tensor) -> bool:
    address = tensor.untyped_storage().data_ptr()
    return any(start <= address < start + max(1, size) for start, size in [*_pinned.items()])


def _remember_pinned(tensor: torch.Tensor) -> torch.Tensor:
    """Let the memory of a tensor be pinned, also for arrays that share it."""
    storage = tensor.untyped_storage()
    _pinned[storage.data_ptr()] = storage.nbytes()
    weakref.finalize(storage, _pinned.pop, storage.data_ptr(), None)
    return tensor


def _copy_beside_the_host(to: torch.Tensor, source: torch.Tensor, host: torch.Tensor) -> None:
    """Copy between the device and pinned memory; the memory has other numbers before the host waits, and must not change."""
    if host.untyped_storage().data_ptr() not in _pinned:
        raise RuntimeError("torch does not find the middle of pinned memory, and would reuse it before the copy is made")
    copied = source.clone()
    if host is to:
        to.copy_(torch.full_like(copied, torch.nan) if copied.is_floating_point() else ~copied)
        finish: Callable[[], object] = partial(to.copy_, copied)
    else:
        to.copy_(copied)
        finish = partial(_compare, source, copied)
    with _copying:
        _unfinished.append(finish)


def _compare(source: torch.Tensor, copied: torch.Tensor) -> None:
    """Refuse pinned memory that is no longer what was copied from it."""
    if not torch.equal(*(each.reshape(-1).contiguous().view(torch.uint8) for each in (source, copied))):
        raise RuntimeError("pinned memory was changed before it was copied to the device")


def _finish(copies: Iterable[Callable[[], object]]) -> None:
    """Make copies that are not made yet."""
    with _copying, torch.inference_mode():
        for copy in [each for each in copies if each in _unfinished]:
            _unfinished.remove(copy)
            copy()


def _mark(value: Any) -> Any:
    """Put a tensor on the device."""
    if isinstance(value, torch.Tensor) and not on_device(value):
        storage: Any = value.untyped_storage()
        if _state["used"] + storage.nbytes() > _state["limit"]:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {storage.nbytes()} bytes")
        storage.on_device = True
        _state["used"] += storage.nbytes()
        weakref.finalize(storage, _free, storage.nbytes())
    return value


def _free(size: int) -> None:
    _state["used"] -= size


def _wait(what: str) -> None:
    """Count a synchronisation, as torch's debug mode reports it."""
    counts["synchronisations"] += 1
    _finish([*_unfinished])
    if _state["sync debug"] == "error":
        raise RuntimeError(f"called a synchronizing CUDA operation: {what}")
    if _state["sync debug"] == "warn":
        warnings.warn(f"called a synchronizing CUDA operation: {what}", stacklevel=3)


class _Device(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes every operation on the CPU, and checks, counts and marks what is on the device; one for each thread."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out the guard against a compiler that no test uses: it takes a fifth of the time of most operations."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs, name = dict(kwargs or {}), func._schema.name.removeprefix("aten::")
        tensors = [*_tensors((*args, *kwargs.values()))]
        held = [on_device(tensor) for tensor in tensors]
        wanted, pinned = kwargs.get("device"), kwargs.pop("pin_memory", False)
        if wanted is not None:
            kwargs["device"] = CPU if torch.device(wanted).type == "cuda" else wanted
        goes_there = any(held) if wanted is None else torch.device(wanted).type == "cuda"
        if name == "_flash_attention_forward":
            return tree_map(_mark, _attend(*args, **kwargs))
        if name == "mm" and "out_dtype" in str(func._schema):
            self._check(func, name, tensors, held)
            return _multiply(*args, **kwargs)
        if name == "copy_":
            return self._copy(func, held, *args, **kwargs)
        if any(held):
            self._check(func, name, tensors, held)
        result = func(*args, **kwargs)
        if wanted is not None and torch._C._current_autograd_node() is not None:
            result.untyped_storage().of_gradients = True
        if goes_there:
            counts["kernels"] += not (func.is_view or name.startswith(("empty", "new_empty", "detach")))
            return _mark(result) if isinstance(result, torch.Tensor) else tree_map(_mark, result)
        return _remember_pinned(result) if pinned else result

    def _copy(self, func: Any, held: list[bool], to: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> Any:
        """Copy in place, perhaps between the devices; the host waits unless the memory on its side is pinned."""
        counts["kernels"] += held[0]
        if held[0] != held[1]:
            counts["copies"] += 1
            host = source if held[0] else to
            if non_blocking and _is_pinned(host):
                _copy_beside_the_host(to, source, host)
                return to
            _wait("copy between host and device")
        return func(to, source, non_blocking)

    def _check(self, func: Any, name: str, tensors: list[torch.Tensor], held: list[bool]) -> None:
        """Refuse tensors of two devices, numbers and indices apart; count a synchronisation."""
        others = [tensor for tensor, here in zip(tensors, held, strict=True) if not here and tensor.dim()]
        # torch begins gradients on the CPU, where it thinks that their tensors are.
        for gradient in [tensor for tensor in others if hasattr(tensor.untyped_storage(), "of_gradients")]:
            others = [tensor for tensor in others if tensor is not _mark(gradient)]
        if others and not (name in MASKED and held[0]):
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices ({func})")
        puts = "put" in name
        indices = tensors[1 : -1 if puts else None] if name in MASKED else []
        is_filled = puts and tensors[-1].dim() == 0  # a mask and a number are filled in one kernel
        if name in WAITING or others or (any(each.dtype is torch.bool for each in indices) and not is_filled):
            _wait(str(func))


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bounds: torch.Tensor,
    key_bounds: torch.Tensor,
    *more: Any,
    **named: Any,
) -> tuple[torch.Tensor, ...]:
    """Attend text by text, as torch's kernel for texts of different lengths does, after its own checks."""
    longest, _, dropout, is_causal, _ = more
    assert all(map(on_device, (query, key, value, bounds, key_bounds)))
    assert bounds.dtype == key_bounds.dtype == torch.int32
    assert query.dtype == key.dtype == value.dtype
    assert query.dtype in (torch.float16, torch.bfloat16)
    assert query.stride(-1) == key.stride(-1) == value.stride(-1) == 1
    assert query.shape[-1] <= 256
    assert query.shape[-1] % 8 == 0
    assert dropout == 0 and named.get("scale") is None  # noqa: PT018
    before, behind = named.get("window_size_left"), named.get("window_size_right")
    counts["kernels"] += 1
    ends = _plain(bounds)
    assert ends[-1] == len(query)
    assert max(end - start for start, end in pairwise(ends)) == longest
    attended = torch.empty(query.shape, dtype=query.dtype)
    for start, end in pairwise(ends):
        one, other, third = (states[start:end].transpose(0, 1) for states in (query, key, value))
        places = torch.arange(end - start)
        distance = places[:, None] - places
        seen = (distance <= (end if before is None else before)) & (distance >= -(end if behind is None else behind))
        seen &= distance >= 0 if is_causal else True
        text = torch.nn.functional.scaled_dot_product_attention(one, other, third, attn_mask=seen, enable_gqa=True)
        attended[start:end] = text.transpose(0, 1)
    nothing = (torch.zeros(size) for size in (1, 2, 2, 0))
    return attended, *nothing


def _multiply(one: torch.Tensor, other: torch.Tensor, out_dtype: torch.dtype, out: torch.Tensor | None = None) -> torch.Tensor:
    """Multiply in half precision as tensor cores do: sums in float32, of which they cut off the last digits."""
    assert one.dtype == other.dtype == torch.float16
    assert out_dtype == torch.float32
    counts["kernels"] += 1
    products = torch.mm(one.float(), other.float()).mul_(2.0**18).trunc_().mul_(2.0**-18)
    return _mark(products) if out is None else out.copy_(products)


def _plain(tensor: torch.Tensor) -> list[Any]:
    """Return the numbers of a tensor without a synchronisation: what a kernel itself reads."""
    numbers: list[Any] = _REAL["tolist"](tensor)
    return numbers


_REAL: dict[str, Any] = {name: getattr(torch.Tensor, name) for name in ("to", "cpu", "cuda", "numpy", "tolist", "pin_memory")}


def _to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Copy between the devices, which are one for torch itself."""
    if args and isinstance(args[0], torch.Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    copy = kwargs.pop("copy", False)
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    here, there = on_device(self), device is not None and device.type == "cuda"
    if device is None or here == there:
        where = {} if here or device is None else {"device": device}
        more = {} if memory_format is None else {"memory_format": memory_format}
        same: torch.Tensor = _REAL["to"](self, **where, dtype=dtype or self.dtype, copy=copy, **more)
        return same
    return torch.empty_like(self, dtype=dtype or self.dtype, device=device).copy_(self, non_blocking=non_blocking)


def _refuse_numpy(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    if on_device(self):
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    return _REAL["numpy"](self, *args, **kwargs)


def _to_list(self: torch.Tensor) -> Any:
    if on_device(self):
        _wait("tolist")
    return _plain(self)


def _pin(self: torch.Tensor, *_: Any) -> torch.Tensor:
    if on_device(self):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
    return self if _is_pinned(self) else _remember_pinned(self.clone())


class _Event:
    """A place in a stream; the CPU has done everything before it but copies beside the host."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._before: list[Callable[[], object]] = []

    def synchronize(self) -> None:
        """Wait for one event, not for the device."""
        _finish(self._before)

    def record(self, *_: Any) -> None:
        """Take note of the copies so far."""
        self._before = [*_unfinished]

    def wait(self, *_: Any) -> None:
        """Let a stream wait, and not the host."""


class _Stream(_Event):
    """A queue of operations."""

    wait_stream = wait_event = _Event.wait

    def record_event(self, event: _Event | None = None) -> _Event:
        """Return an event behind the copies so far."""
        event = event or _Event()
        event.record()
        return event


def _tensor(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Make a tensor on the CPU and copy it: torch itself selects the device first, which it does not have."""

    def make_there(*args: Any, device: Any = None, **kwargs: Any) -> torch.Tensor:
        made = make(*args, **kwargs)
        return made if device is None else made.to(device)

    return make_there


def _in_thread(run: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    def run_with_device(self: threading.Thread) -> None:
        with _Device():  # type: ignore[no-untyped-call]
            run(self)

    return run_with_device


def _autocast(init: Any) -> Any:
    def init_on_cpu(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        init(self, "cpu" if device_type == "cuda" else device_type, *args, **kwargs)

    return init_on_cpu


@contextmanager
def pretended_cuda() -> Iterator[None]:
    """Let torch have one CUDA device in the block, whose machine has no real one."""
    here = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "_lazy_init": lambda: None,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda _=None: (9, 0),
        "get_device_name": lambda _=None: "pretended",
        "is_bf16_supported": lambda including_emulation=True: True,
        "empty_cache": lambda: None,
        "synchronize": lambda _=None: _wait("synchronize"),
        "current_stream": lambda _=None: _Stream(),
        "stream": lambda _: ExitStack(),
        "Stream": _Stream,
        "Event": _Event,
        "mem_get_info": lambda _=None: (_state["limit"] - _state["used"], MEMORY),
        "memory_reserved": lambda _=None: _state["used"],
        "set_per_process_memory_fraction": lambda share, _=None: _state.update(limit=int(share * MEMORY)),
        "set_sync_debug_mode": lambda mode: _state.update({"sync debug": mode}),
        "manual_seed_all": lambda _: None,
    }
    methods: dict[str, Any] = {
        "to": _to,
        "numpy": _refuse_numpy,
        "tolist": _to_list,
        "pin_memory": _pin,
        "is_pinned": lambda self, *_: _is_pinned(self),
        "record_stream": lambda self, _: None,
    }
    methods |= {"cpu": lambda self, *_: _to(self, CPU), "cuda": lambda self, *_: _to(self, CUDA)}
    methods |= {"is_cuda": property(on_device), "is_cpu": property(lambda self: not on_device(self))}
    methods |= {"device": property(lambda self: CUDA if on_device(self) else _device_of.__get__(self))}
    _device_constructors()  # which it remembers: those of torch
    with ExitStack() as stack:
        for owner, replaced in ((torch.cuda, here), (torch.Tensor, methods)):
            for name, value in replaced.items():
                stack.enter_context(patch.object(owner, name, value))
        for name in ("tensor", "as_tensor"):
            stack.enter_context(patch.object(torch, name, _tensor(getattr(torch, name))))
        stack.enter_context(patch.object(threading.Thread, "run", _in_thread(threading.Thread.run)))
        stack.enter_context(patch.object(torch.autocast, "__init__", _autocast(torch.autocast.__init__)))
        counts.clear()
        _unfinished.clear()
        stack.enter_context(_Device())  # type: ignore[no-untyped-call]
        yield
        _finish([*_unfinished])
