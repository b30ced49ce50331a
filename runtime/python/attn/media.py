# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures and sounds as inputs: files, their bytes, Pillow's images and arrays of bytes, read as the command line reads files."""
from __future__ import annotations

import io
import os
import struct
import zlib
from typing import Any

import numpy as np

from ._library import Library, describe, encode_path
from .errors import InputError, InputTypeError

_CHANNELS = {1: 0, 2: 4, 3: 2, 4: 6}  # to PNG's colour types


def _png(pixels: np.ndarray) -> bytes:
    """A PNG file of pixels [height, width, channels] of bytes."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = np.concatenate([np.zeros((height, 1), np.uint8), np.ascontiguousarray(pixels).reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, _CHANNELS[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) + chunk(b"IEND", b"")


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike, bytes, bytearray, memoryview))


def _is_pillow(value: Any) -> bool:
    return hasattr(value, "convert") and hasattr(value, "save") and hasattr(value, "mode")


def _is_pixels(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint8


def _is_media(value: Any) -> bool:
    return _is_file(value) or _is_pillow(value) or _is_pixels(value)


def _file_of(value: Any, what: str) -> Any:
    """A path, or the bytes of a file."""
    if _is_pillow(value):
        stream = io.BytesIO()
        (value if value.mode in ("L", "LA", "RGB", "RGBA", "P", "1") else value.convert("RGB")).save(stream, "PNG")
        return stream.getvalue()
    if _is_pixels(value):
        pixels = value[:, :, None] if value.ndim == 2 else value
        if pixels.ndim != 3 or pixels.shape[2] not in _CHANNELS or 0 in pixels.shape:
            raise InputError(f"{what}: pixels of shape {value.shape}, expected [height, width] or [height, width, channels]", code="R0302",
                             help="channels are the last axis: `pixels.transpose(1, 2, 0)` turns those that are the first")
        return _png(pixels)
    return value


def load_media(library: Library, model: int, entry: int, place: int, info: Any, value: Any, what: str) -> Any:
    """The tensor of pictures or sounds; a value that is a tensor already comes back as it is. Several are a list, one an element of
    a batch of one, where the input has an axis for batches."""
    if _is_pixels(value) and value.ndim == 4:
        value = list(value)
    is_list = isinstance(value, (list, tuple)) and len(value) > 0 and all(_is_media(item) for item in value)
    if not is_list and not _is_media(value):
        return value
    load = library.attn_image_load if info.media == "image" else library.attn_sound_load
    if load is None or (info.media == "sound" and not all(_is_file(item) for item in (value if is_list else [value]))):
        raise InputTypeError(f"{what} is {describe(value)}, expected {'sounds' if info.media == 'sound' else 'a tensor'}", code="R0303",
                             help="pass the path of a file, or an array as the signature says")
    kept = 3 if info.media == "image" else 2
    sizes = tuple(axis.size for axis in info.axes[-kept:])
    items = list(value) if is_list else [value]
    if len(info.axes) == kept and len(items) != 1:
        raise InputError(f"{what} takes one {info.media}, got {len(items)}", code="R0202", help="pass one")
    values = np.empty((len(items), *sizes), np.float32)
    for index, item in enumerate(items):
        file = _file_of(item, what)
        if isinstance(file, (str, os.PathLike)):
            library.call(f"attn_{info.media}_load", model, entry, place, encode_path(file, what), values[index].ctypes.data)
            continue
        # The C API takes a path: one of memory.
        descriptor = os.memfd_create("attn", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as memory:
            memory.write(file)
            memory.flush()
            library.call(f"attn_{info.media}_load", model, entry, place, f"/proc/self/fd/{descriptor}".encode(), values[index].ctypes.data)
    if len(info.axes) == kept:
        return values[0]
    return values.reshape(*(1 if not axis.is_dynamic else len(items) for axis in info.axes[:-kept]), *sizes) \
        if len(info.axes) > kept + 1 else values
