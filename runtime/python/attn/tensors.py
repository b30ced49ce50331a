# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, and what speaks DLPack, as tensors of the C API, without a copy where there need be none."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Optional, Sequence

import numpy as np

from ._library import CPU, Tensor, describe
from .errors import ArgumentError, InputError, InputTypeError

# The dtypes of attn.h: number, name, NumPy's dtype (of bf16 its bits, since NumPy has none), DLPack's code and bits.
_ROWS = [(0, "f32", "float32", 2, 32), (1, "f16", "float16", 2, 16), (2, "bf16", "uint16", 4, 16), (3, "i32", "int32", 0, 32),
         (4, "i64", "int64", 0, 64), (5, "u8", "uint8", 1, 8), (6, "bool", "bool", 6, 8), (7, "f64", "float64", 2, 64)]
F32, BF16, I32, I64, U8, BOOL = 0, 2, 3, 4, 5, 6
NAMES = {number: name for number, name, *_ in _ROWS}
NUMPY = {number: np.dtype(numpy) for number, _, numpy, *_ in _ROWS}
_NUMBERS = {np.dtype(numpy): number for number, _, numpy, *_ in _ROWS if number != BF16}
_DLPACK = {(code, bits): number for number, _, _, code, bits in _ROWS}
_KINDS = {"f": "floats", "i": "integers", "u": "integers", "b": "bools"}


class _DLTensor(Structure):
    """DLTensor of dlpack.h, with which a DLManagedTensor begins."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], c_void_p


class View:
    """Memory that somebody holds: where it is, and what keeps it."""

    __slots__ = ("pointer", "dtype", "shape", "owner", "writable")

    def __init__(self, pointer: int, dtype: int, shape: tuple[int, ...], owner: Any, writable: bool = True):
        self.pointer, self.dtype, self.shape, self.owner, self.writable = pointer, dtype, shape, owner, writable

    def fill(self, tensor: Tensor) -> None:
        """Lets a tensor of the C API be this one."""
        tensor.data, tensor.dtype, tensor.rank = self.pointer, self.dtype, len(self.shape)
        tensor.shape[:len(self.shape)] = self.shape


def view_of_array(array: np.ndarray, dtype: Optional[int] = None) -> View:
    """A dense array as it is. Its dtype is one of attn.h, or `dtype` says which it stands for."""
    number = _NUMBERS[array.dtype] if dtype is None else dtype
    return View(array.ctypes.data, number, array.shape, array, array.flags.writeable)


def _strides_are_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def view_of_dlpack(value: Any, what: str) -> Optional[View]:
    """What another library holds, by DLPack; None where it is not dense, or cannot be exported."""
    if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
        value = value.detach()  # the same memory; a gradient cannot go through the model anyway
    try:
        capsule = value.__dlpack__()
        held = _DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
    except Exception:  # whatever the other library raises
        return None
    if held.device_type != CPU:
        raise ArgumentError(f"{what} is on a device, of DLPack's type {held.device_type}, expected memory of the host", code="R0101",
                            help="pass `.cpu()` of it")
    number = _DLPACK.get((held.code, held.bits)) if held.lanes == 1 else None
    shape = tuple(held.shape[:held.ndim])
    if number is None or (held.strides and 0 not in shape and not _strides_are_dense(shape, held.strides[:held.ndim])):
        return None
    return View((held.data or 0) + held.byte_offset, number, shape, (capsule, value))


def array_of(value: Any, what: str) -> np.ndarray:
    """Any value as an array of numbers."""
    if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
        value = value.detach()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputTypeError(f"{what} is {describe(value)} that makes no array: {error}", code="R0201",
                             help="pass rows of the same length, or an array") from None
    if array.dtype.kind not in "fiub":
        raise InputTypeError(f"{what} is {describe(value)} of {array.dtype}, expected an array of numbers", code="R0201",
                             help="pass a NumPy array, a tensor by DLPack, or a list of numbers")
    return array


def to_bf16(array: np.ndarray) -> np.ndarray:
    """The bits of the nearest numbers of bf16, of two the even one."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FC0), rounded)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """bf16 as f32, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _convert(array: np.ndarray, wanted: int, what: str, is_array: bool) -> np.ndarray:
    """Floats to the float type, integers to the integer type where they fit, as the command line does; else an error."""
    kind, expected = array.dtype.kind, NUMPY[wanted].kind
    if wanted == BF16:
        expected = "f"
    if kind == "u" and array.dtype.itemsize == 1 and wanted == BOOL and not (array.size and array.max() > 1):
        return array.view(np.bool_)
    mixes = _KINDS[kind] != _KINDS[expected]
    if mixes and not (not is_array and kind == "i" and expected == "f"):
        name = "float32" if expected == "f" else NUMPY[wanted].name
        mend = f"pass `numpy.asarray(x, numpy.{name})`" if expected != "b" else "pass an array of bools: `x != 0`"
        raise InputTypeError(f"{what} is {array.dtype.name}, expected {NAMES[wanted]}", code="R0201", help=mend)
    if wanted == BF16:
        return to_bf16(array)
    if expected in "iu" and array.size and array.dtype != NUMPY[wanted]:
        limits = np.iinfo(NUMPY[wanted])
        least, most = int(array.min()), int(array.max())
        if least < limits.min or most > limits.max:
            raise InputError(f"{what} holds {least if least < limits.min else most}, which is no {NAMES[wanted]}", code="R0206",
                             help="indices count rows from 0")
    with np.errstate(over="ignore"):  # what is too large is infinite
        return array.astype(NUMPY[wanted])


def view_of_input(value: Any, wanted: int, what: str) -> View:
    """An input, as dense memory of the dtype that is wanted: the caller's own where it is that already, else a copy."""
    is_array = isinstance(value, np.ndarray)
    if not is_array and hasattr(value, "__dlpack__"):
        is_array = True
        view = view_of_dlpack(value, what)
        if view is not None and (view.dtype == wanted or (wanted == BOOL and view.dtype == U8 and _holds_bools(view))):
            return View(view.pointer, wanted, view.shape, view.owner)
        if view is not None and view.dtype == BF16:
            bits = np.ctypeslib.as_array((ctypes.c_uint16 * max(_count(view.shape), 1)).from_address(view.pointer))
            value = from_bf16(bits[:_count(view.shape)].reshape(view.shape))
    array = array_of(value, what)
    if array.dtype != NUMPY[wanted] or wanted == BF16:
        array = _convert(array, wanted, what, is_array)
    return view_of_array(np.ascontiguousarray(array).reshape(array.shape), wanted)


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _holds_bools(view: View) -> bool:
    values = (c_uint8 * max(_count(view.shape), 1)).from_address(view.pointer)
    return not _count(view.shape) or max(values) <= 1


def view_of_output(value: Any, wanted: int, shape: tuple[int, ...], what: str) -> View:
    """Memory of the caller's that an output is written to: nothing is converted."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous or value.dtype not in _NUMBERS:
            view = None
        else:
            view = view_of_array(value)
    elif getattr(value, "requires_grad", False):
        raise ArgumentError(f"{what} is a tensor that requires a gradient, which cannot be written to", code="R0101",
                            help="pass `.detach()` of it")
    elif hasattr(value, "__dlpack__"):
        view = view_of_dlpack(value, what)
        if view is None and wanted == BOOL and hasattr(value, "numpy"):  # PyTorch 1.13 exports no bools, but shares them
            return view_of_output(value.numpy(), wanted, shape, what)
        if view is not None and wanted == BOOL and view.dtype == U8:
            view.dtype = BOOL
    else:
        raise InputTypeError(f"{what} is {describe(value)}, expected an array to write to", code="R0201",
                             help=f"pass `numpy.empty({shape}, numpy.{NUMPY[wanted].name})`")
    if view is None:
        raise ArgumentError(f"{what} is not dense, or of a dtype that no output has", code="R0101",
                            help=f"pass a contiguous array of {NAMES[wanted]}, shape {shape}")
    if wanted == BF16 and isinstance(value, np.ndarray) and value.dtype == np.uint16:
        view.dtype = BF16
    if view.dtype != wanted:
        raise InputTypeError(f"{what} is {NAMES[view.dtype]}, expected {NAMES[wanted]}", code="R0201",
                             help="outputs are written as they are: nothing is converted")
    if view.shape != shape:
        raise InputError(f"{what} has shape {view.shape}, expected {shape}", code="R0203",
                         help=f"pass `numpy.empty({shape}, numpy.{NUMPY[wanted].name})`")
    if not view.writable:
        raise ArgumentError(f"{what} is read-only", code="R0101", help="pass an array that can be written")
    return view


def view_of_weight(value: Any, what: str) -> View:
    """A tensor of a checkpoint, of whatever dtype it is."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        view = view_of_dlpack(value, what)
        if view is None and hasattr(value, "contiguous"):
            view = view_of_dlpack(value.contiguous(), what)
        if view is not None:
            return view
    if getattr(getattr(value, "dtype", None), "name", "") == "bfloat16":  # of package ml_dtypes
        return view_of_array(np.ascontiguousarray(value).view(np.uint16), BF16)
    array = array_of(value, what)
    if array.dtype not in _NUMBERS:
        raise InputTypeError(f"{what} is {array.dtype.name}, expected one of {', '.join(NAMES.values())}", code="R0201",
                             help="pass `numpy.asarray(x, numpy.float32)`")
    return view_of_array(np.ascontiguousarray(array).reshape(array.shape))
