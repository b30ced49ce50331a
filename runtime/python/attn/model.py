# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models: a shared library and its weights."""
from __future__ import annotations

import ctypes
import functools
import json
import os
from typing import Any, Mapping, Optional, Sequence, Union

from ._library import FILE_LABELS, CacheInfo, Handle, Library, NamedTensor, TensorInfo, describe, encode_path, open_library
from .context import Context
from .entry import ContextState, Entry, read_info
from .errors import ArgumentError, FileError, InputError, WeightsError
from .rows import Row, RowEntry
from .tensors import view_of_weight

Weights = Union[None, str, "os.PathLike[str]", bytes, Mapping[str, Any]]


def _open(path: str) -> Library:
    """Loads the shared library of a model."""
    if not os.path.exists(path):
        raise FileError(f"cannot read `{path}`: no such file", code="R0501", help="make it by `attn compile SPEC --emit=shared -o FILE`")
    if path.endswith(".attn"):
        raise FileError(f"`{path}` is a spec, not a compiled model", help="compile it: `attn.compile(path)`")
    try:
        library = open_library(os.path.abspath(path))
    except OSError as error:
        raise FileError(f"`{path}` is no shared library that can be loaded here: {error}",
                        help="make it by `attn compile SPEC --emit=shared`") from None
    if not hasattr(library.handle, "attn_model"):
        raise FileError(f"`{path}` is no model: it has no symbol `attn_model`",
                        help="make it by this version's `attn compile SPEC --emit=shared`")
    return library


def _make_entries(model: Handle, rows: Sequence[tuple[str, Any, Any]], state: ContextState) -> dict[str, Entry]:
    """The entries of a model in one of its contexts."""
    def kind(number: int) -> type[Entry]:
        return Entry if model.library.attn_model_rows_dim(model.pointer, number) < 0 else RowEntry
    return {name: kind(number)(state, model.pointer or 0, number, name, inputs, outputs)
            for number, (name, inputs, outputs) in enumerate(rows)}


class Model(Context):
    """A compiled model with its weights, and a context to run it in. Entries are methods: `model.classify(image)`.

    `name`, `version` (of the compiler), `precision`, `level` (of the CPU's instructions that are used) and `description`, all that is
    known of the model as a mapping, say what it is."""

    def __init__(self, path: Any, weights: Weights = None, threads: int = 0, *, device: Optional[str] = None,
                 options: Optional[str] = None):
        self.path = os.fsdecode(encode_path(path, "the path of a model"))
        library = _open(self.path)
        tables = ctypes.addressof(ctypes.c_char.in_dll(library.handle, "attn_model"))
        encoded = None if options is None else encode_path(options, "options=")
        self._model = Handle(library, "attn_model_destroy", library.create("attn_model_create", tables, encoded))
        pointer = self._model.pointer

        def text(name: str) -> str:
            return getattr(library, name)(pointer).decode()
        self.name, self.version = text("attn_model_name"), text("attn_model_version")
        self.precision, self.level = text("attn_model_precision"), text("attn_model_level")
        self.description: Mapping[str, Any] = json.loads(text("attn_model_description"))
        caches = []
        for number in range(library.attn_model_cache_count(pointer)):
            cache = CacheInfo()
            library.attn_model_cache(pointer, number, ctypes.byref(cache))
            caches.append((cache.name.decode(), cache.capacity))
        rows = [(library.attn_model_entry_name(pointer, number).decode(), self._infos(number, "input", described),
                 self._infos(number, "output", described)) for number, described in enumerate(self.description["entries"])]
        self._library = library
        if weights is not None:
            self.bind(weights)
        super().__init__(self._model, functools.partial(_make_entries, self._model, rows), caches, threads, device)

    def _infos(self, entry: int, kind: str, described: Mapping[str, Any]) -> list[Any]:
        library, pointer = self._model.library, self._model.pointer
        infos = []
        for place in range(getattr(library, f"attn_model_{kind}_count")(pointer, entry)):
            info = TensorInfo()
            getattr(library, f"attn_model_{kind}")(pointer, entry, place, ctypes.byref(info))
            row = described[kind + "s"][place]
            infos.append(read_info(info, "image" if row.get("image") else "sound" if row.get("sound") else None))
        return infos

    def __repr__(self) -> str:
        return f"<model {self.name}: " + ", ".join(self.entries) + f"; {self.precision}, {self.level}>"

    @property
    def has_weights(self) -> bool:
        """Whether weights are bound; those that are embedded are."""
        return bool(self._library.attn_model_has_weights(self._model.pointer))

    @property
    def labels(self) -> list[str]:
        """The names of classes that are embedded beside the weights."""
        names = self._library.embedded_file(self._model.pointer or 0, FILE_LABELS) or b""
        return [name.decode(errors="replace") for name in names.split(b"\0")[:-1]]

    def bind(self, weights: Weights) -> None:
        """Binds weights: a file (.safetensors, an index of shards, a folder, GGUF, llama2.c), the bytes of one, a mapping of names to
        arrays or tensors, such as PyTorch's `state_dict()`, or "random:SEED". Not while a context of the model runs."""
        library, pointer = self._library, self._model.pointer
        if isinstance(weights, Mapping):
            self._bind_tensors(weights)
        elif isinstance(weights, (bytes, bytearray, memoryview)):
            library.call("attn_model_bind_memory", pointer, bytes(weights), len(bytes(weights)))
        elif isinstance(weights, str) and weights.split(":")[0] == "random" and not os.path.exists(weights):
            seed = weights[len("random:"):] or "0"
            if not seed.isdecimal():
                raise ArgumentError(f"weights=`{weights}`: expected a whole number behind `random:`", code="R0101",
                                    help="pass `random:1`, for example")
            library.call("attn_model_bind_random", pointer, int(seed))
        elif isinstance(weights, (str, os.PathLike)):
            library.call("attn_model_bind_file", pointer, encode_path(weights, "the path of weights"))
        else:
            raise ArgumentError(f"weights= is {describe(weights)}, expected a path, bytes or a mapping of names to arrays", code="R0101",
                                help="of a module of PyTorch pass `module.state_dict()`")

    def _bind_tensors(self, weights: Mapping[str, Any]) -> None:
        views, tensors = [], (NamedTensor * max(len(weights), 1))()
        for tensor, (name, value) in zip(tensors, weights.items()):
            if not isinstance(name, str):
                raise WeightsError(f"a name of the weights is {describe(name)}", code="R0101", help="names are strings")
            try:
                view = view_of_weight(value, f"tensor `{name}`")
            except (ArgumentError, InputError) as error:
                raise WeightsError(error.message, code=error.code, help=error.help) from None
            if len(view.shape) > 8:
                raise WeightsError(f"tensor `{name}` has {len(view.shape)} axes, expected at most 8", code="W0105")
            tensor.name = encode_path(name, "a name of the weights")
            view.fill(tensor.tensor)
            views.append(view)  # held until the call has returned
        self._library.call("attn_model_bind_tensors", self._model.pointer, tensors, len(weights))

    def row(self) -> Row:
        """A sequence for the entries whose rows are by themselves: `model.step([row], [[1, 2, 3]])`."""
        return Row(self._model)

    def close(self) -> None:
        """Gives the memory back now, that of the weights when the last context is closed, too."""
        super().close()
        self._model.close()


def load(path: Any, weights: Weights = None, threads: int = 0, *, device: Optional[str] = None, options: Optional[str] = None) -> Model:
    """Loads a model that `attn compile --emit=shared` has made. `weights`: as `Model.bind` takes them; those that are embedded need
    none. `threads`: of a run, 0 for as many as there are CPUs. `device`: "cpu" or "cuda:N". `options`: as ATTN_FLAGS, `pin` or
    `level=x86-64-v3`."""
    return Model(path, weights, threads, device=device, options=options)
