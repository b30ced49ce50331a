# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows: sequences with lengths of their own that share the calls of an entry."""
from __future__ import annotations

import ctypes
from ctypes import c_int64, c_void_p
from typing import Any, Sequence

import numpy as np

from ._library import Handle, Library, Tensor, whole_number
from .entry import Entry, Info
from .errors import InputError, InputTypeError
from .tensors import view_of_input


class Row:
    """A sequence: what the caches of a model hold of it. `len` of it is the number of its positions."""

    def __init__(self, model: Handle):
        self._model, self._library = model, model.library
        self._handle = Handle(model.library, "attn_row_destroy", model.library.create("attn_row_create", model.pointer), model)

    @property
    def pointer(self) -> int:
        """The row in the C API."""
        if not self._handle.pointer:
            raise InputError("the row is closed", code="R0101", help="make another one: `model.row()`")
        return self._handle.pointer

    def __len__(self) -> int:
        return self._library.attn_row_length(self.pointer, 0)

    def __repr__(self) -> str:
        return f"<row of {len(self)} positions>"

    def truncate(self, length: int = 0) -> None:
        """Drops all positions but the first `length`."""
        length = whole_number(length, 0, len(self), "the length of a row", f"the row holds {len(self)} positions")
        for cache in range(self._library.attn_model_cache_count(self._model.pointer)):
            self._library.call("attn_row_truncate", self.pointer, cache, min(length, self._library.attn_row_length(self.pointer, cache)))

    def copy(self) -> "Row":
        """Another row that holds the same: two ways to go on."""
        other = Row(self._model)
        self._library.call("attn_row_copy", other.pointer, self.pointer)
        return other

    def close(self) -> None:
        """Gives its memory back now; else that happens when nothing refers to the row any more."""
        self._handle.close()


def _has_positions(info: Info) -> bool:
    return len(info.axes) > 1 and not info.axes[0].is_dynamic and info.axes[0].size == 1 and info.axes[1].is_dynamic


class RowEntry(Entry):
    """An entry whose rows are by themselves: `entry(rows, ids)` adds positions to each of some rows. Of an input of positions it takes a
    list with an array for each row, [positions, ...]. Outputs of positions come as such lists; others have a place for each row."""

    def __call__(self, rows: Sequence[Row], *args: Any, **named: Any) -> Any:  # type: ignore[override]
        rows, bound = list(rows), self._bind(args, named)
        counts: list[int] = []
        given = []
        for place, (info, value) in enumerate(zip(self.inputs, bound)):
            if _has_positions(info):
                parts = [np.asarray(part, self._dtypes[place]) for part in value]
                own = [part.shape[0] if part.ndim else -1 for part in parts]
                if len(parts) != len(rows) or min(own, default=0) < 0:
                    raise InputTypeError(f"{self._what('input', info)} has {len(parts)} arrays, expected one for each of {len(rows)} rows",
                                         code="R0204", help="pass a list: `[[1, 2, 3], [7]]`")
                if counts and own != counts:
                    raise InputError(f"{self._what('input', info)} has {own} positions of the rows, another one has {counts}", code="R0204")
                counts, value = own, np.concatenate(parts)[None]
            given.append(view_of_input(value, info.number, self._what("input", info)))
        inputs, outputs = (Tensor * max(len(given), 1))(), (Tensor * max(len(self.outputs), 1))()
        for tensor, view in zip(inputs, given):
            view.fill(tensor)
            tensor.data = view.pointer or 1
        made = []
        for info, dtype, tensor in zip(self.outputs, self._made, outputs):
            positions = _has_positions(info)
            shape = [1, sum(counts)] if positions else [len(rows)] if info.axes and info.axes[0].is_dynamic else []
            made.append(np.empty(shape + [axis.size for axis in info.axes[len(shape):]], dtype))
            view_of_input(made[-1], info.number, self._what("output", info)).fill(tensor)
            tensor.data = made[-1].ctypes.data
        pointers = (c_void_p * max(len(rows), 1))(*[row.pointer for row in rows])
        with self._state.lock:
            self._state.check()
            self._library.call("attn_run_rows", self._state.pointer, self._number, pointers, (c_int64 * max(len(counts), 1))(*counts),
                               len(rows), inputs, outputs)
        ends = np.cumsum(counts)[:-1]
        results = [np.split(array[0], ends) if _has_positions(info) else array for info, array in zip(self.outputs, made)]
        return results[0] if len(results) == 1 else self._result(*results)  # type: ignore[misc]
