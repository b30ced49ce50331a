# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts: the threads, caches and states that a model runs with."""
from __future__ import annotations

import ctypes
import re
from typing import Any, Iterator, Mapping, Optional

from ._library import CPU, CUDA, Handle, Library, read_file, whole_number, write_file
from .entry import ContextState, Entry
from .errors import ArgumentError, NotFoundError, UnknownNameError, nearest


class Cache:
    """A cache of a context: `len` of it is the number of positions that it holds."""

    def __init__(self, state: ContextState, number: int, name: str, capacity: int):
        self.name, self.capacity = name, capacity
        self._state, self._number = state, number

    def __len__(self) -> int:
        self._state.check()
        return self._state.library.attn_cache_length(self._state.pointer, self._number)

    def __repr__(self) -> str:
        return f"<cache {self.name}: {len(self)} of {self.capacity} positions>"

    def truncate(self, length: int = 0) -> None:
        """Drops all positions but the first `length`."""
        self._state.check()
        length = whole_number(length, 0, self.capacity, "the length of a cache", f"`{self.name}` holds {len(self)} positions")
        with self._state.lock:
            self._state.library.call("attn_cache_truncate", self._state.pointer, self._number, length)


class Names(Mapping[str, Any]):
    """What is there by its name; a name that is not known is an error with the nearest one."""

    def __init__(self, what: str, items: Mapping[str, Any]):
        self._what, self._items = what, dict(items)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._items[name]
        except (KeyError, TypeError):
            raise NotFoundError(f"no {self._what} `{name}`", code="R0102",
                                help=nearest(str(name), self._items, {"entry": "the entries", "cache": "caches"}[self._what])) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __repr__(self) -> str:
        return repr(list(self._items.values()))


class Context:
    """Runs a model's entries, one call at a time, on threads of its own. Entries are attributes: `context.classify(image)`; `entries`
    and `caches` have them by their names. Threads of Python that share a context wait for each other: each may have one of its own,
    made by `model.context()`, which shares the weights but no cache and no state."""

    entries: Mapping[str, Entry]
    caches: Mapping[str, Cache]

    def __init__(self, model: Handle, make_entries: Any, caches: Any, threads: int = 0, device: Optional[str] = None):
        threads = whole_number(threads, 0, 1024, "threads=", "0 takes as many as there are CPUs for this process")
        library: Library = model.library
        handle = Handle(library, "attn_context_destroy", library.create("attn_context_create", model.pointer, threads), model)
        self._library, self._model, self._device = library, model, device
        self._make_entries, self._caches = make_entries, caches
        self._state = ContextState(library, handle)
        self.entries = Names("entry", make_entries(self._state))
        self.caches = Names("cache", {name: Cache(self._state, number, name, capacity) for number, (name, capacity) in enumerate(caches)})
        if device is not None:
            self.to(device)

    def __getattr__(self, name: str) -> Entry:
        entries = self.__dict__.get("entries", {})
        if name in entries:
            return entries[name]
        if name.startswith("__"):
            raise AttributeError(name)
        known = [*entries, *(attribute for attribute in dir(type(self)) if not attribute.startswith("_"))]
        raise UnknownNameError(f"the model has no entry `{name}`", code="R0102", help=nearest(name, known, "what it has"))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.entries]

    @property
    def threads(self) -> int:
        """How many threads run an entry."""
        self._state.check()
        return self._library.attn_context_threads(self._state.pointer)

    @property
    def code(self) -> str:
        """What code runs: "x86-64-v4", "sm_90a, machine code"."""
        self._state.check()
        return self._library.attn_context_code(self._state.pointer).decode()

    def to(self, device: str) -> Any:
        """Runs on "cpu" or a GPU, "cuda" or "cuda:1", from now on; arrays of the host are copied."""
        found = re.fullmatch(r"(cpu)|cuda(?::(\d+))?", device) if isinstance(device, str) else None
        if not found:
            raise ArgumentError(f"device={device!r}: expected `cpu` or `cuda:N`", code="R0101", help="`cuda:0` is the first GPU")
        self._state.check()
        with self._state.lock:
            self._library.call("attn_context_set_device", self._state.pointer, CPU if found[1] else CUDA, int(found[2] or 0))
        self._device = device
        return self

    def context(self, threads: Optional[int] = None, *, device: Optional[str] = None) -> "Context":
        """Another context with the same weights, and caches and states of its own: for another thread, or another conversation. It has
        as many threads, and the device, of this one, where they are not given."""
        return Context(self._model, self._make_entries, self._caches, self.threads if threads is None else threads, device or self._device)

    def reset(self) -> None:
        """Begins anew: caches are empty and states are zeros."""
        self._state.check()
        with self._state.lock:
            self._library.call("attn_context_reset", self._state.pointer)

    def copy(self, threads: Optional[int] = None, *, device: Optional[str] = None) -> "Context":
        """Another context, as `context` makes it, whose caches and states hold what those of this one do: two ways to go on."""
        other = self.context(threads, device=device)
        with self._state.lock:
            self._library.call("attn_context_copy", other._state.pointer, self._state.pointer)
        return other

    def save(self, path: Any = None) -> Optional[bytes]:
        """What the caches and states hold, as bytes that `load` takes, also in another process; written to a file where one is named."""
        self._state.check()
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        with self._state.lock:
            self._library.call("attn_context_save", self._state.pointer, ctypes.byref(data), ctypes.byref(size))
        try:
            saved = ctypes.string_at(data, size.value)
        finally:
            self._library.free(data)
        if path is None:
            return saved
        write_file(path, saved)
        return None

    def load(self, saved: Any) -> None:
        """Restores what `save` has given, bytes or a file, of the same model at the same level with the same weights; after an error all is
        as it was."""
        self._state.check()
        if isinstance(saved, (bytearray, memoryview)):
            saved = bytes(saved)
        if not isinstance(saved, bytes):
            saved = read_file(saved)
        with self._state.lock:
            self._library.call("attn_context_load", self._state.pointer, saved, len(saved))

    def close(self) -> None:
        """Gives threads and memory back now; else that happens when nothing refers to the context any more."""
        self._state.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


__all__ = ["Cache", "Context"]
