# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of a model as functions: arguments to tensors, a run, outputs to arrays."""
from __future__ import annotations

import collections
import ctypes
import inspect
import threading
from ctypes import c_char_p, c_void_p
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from . import generation
from ._library import Handle, Library, Tensor, TensorInfo
from .errors import ArgumentError, InputError, InputTypeError, names, nearest
from .media import load_media
from .tensors import BF16, NAMES, NUMPY, View, from_bf16, view_of_input, view_of_output

_MOST_PLANS = 64  # of an entry: sets of shapes whose outputs are known


class Axis(NamedTuple):
    """An axis: its name in the spec, and its size, or the largest one where it is dynamic."""
    name: str
    size: int
    is_dynamic: bool

    def __str__(self) -> str:
        if not self.is_dynamic:
            return str(self.size) if self.name == str(self.size) or not self.name else f"{self.name} = {self.size}"
        return f"{self.name} <= {self.size}"


class Info(NamedTuple):
    """An input or an output of an entry. `below`: elements are indices from 0 to below - 1, where it is not 0. A state is an
    input that may be left out, or an output that is kept. `media` is "image" or "sound" where files are taken, too."""
    name: str
    dtype: str
    axes: tuple[Axis, ...]
    below: int
    is_state: bool
    media: Optional[str]
    number: int  # of the dtype in attn.h

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.axes))}]"


def read_info(info: TensorInfo, media: Optional[str] = None) -> Info:
    """What the C API says of an input or output."""
    axes = tuple(Axis((info.axisNames[a] or b"").decode(), info.shape[a], bool(info.isDynamic[a])) for a in range(info.rank))
    return Info(info.name.decode(), NAMES[info.dtype], axes, info.below, bool(info.isState), media, info.dtype)


class ContextState:
    """What the entries of a context share: the handle, and the lock that lets one thread in at a time."""

    def __init__(self, library: Library, handle: Handle):
        self.library, self.handle, self.lock = library, handle, threading.RLock()
        self.pointer = c_void_p(handle.pointer)
        self.message = c_char_p()
        self.message_address = ctypes.byref(self.message)
        self.is_generating = False  # functions of the caller's are called meanwhile, in the thread that has the lock

    def check(self) -> None:
        """Raises where the context is closed, or in the middle of a generation."""
        if not self.pointer.value:
            raise ArgumentError("the model is closed", code="R0101", help="load it again: `attn.load(...)`")
        if self.is_generating:
            raise ArgumentError("the context is generating", code="R0101", help="call another one there: `model.context()`")

    def close(self) -> None:
        """Destroys the context."""
        with self.lock:
            if self.is_generating:
                self.check()
            self.pointer.value = None
            self.handle.close()


class _Plan:
    """The tensors of a call with certain shapes, and the shapes of its outputs."""

    def __init__(self, inputs: int, outputs: int):
        self.given = (Tensor * max(inputs, 1))()
        self.made = (Tensor * max(outputs, 1))()
        self.shapes: list[tuple[int, ...]] = []


class Entry:
    """An entry of a model. Calling it runs it: arrays in, an array out, or a named tuple of several.

    Inputs go by place or by name. Each is an array of NumPy, a tensor of a library that speaks DLPack, or a list of numbers; what is
    dense and of the right dtype is used where it lies. `out=` takes arrays that outputs are written to: one, a sequence, or a
    mapping by names."""

    def __init__(self, state: ContextState, model: int, number: int, name: str, inputs: Sequence[Info], outputs: Sequence[Info]):
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.__name__ = self.__qualname__ = name
        self._state, self._library, self._model, self._number = state, state.library, model, number
        self._run = state.library.attn_run
        self._places = {info.name: place for place, info in enumerate(self.inputs)}
        self._dtypes = [NUMPY[info.number] if info.number != BF16 else None for info in self.inputs]
        self._made = [NUMPY[info.number] for info in self.outputs]
        self._gives_bf16 = any(info.number == BF16 for info in self.outputs)
        self._result = collections.namedtuple(name if name.isidentifier() else "Outputs", [info.name for info in outputs],
                                              rename=True) if len(outputs) > 1 else None  # type: ignore[misc]
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self.__signature__ = self._signature()
        self.__doc__ = f"{self}\n\n{self._describe()}"

    def __str__(self) -> str:
        results = ", ".join(f"{info.name}: {info}" for info in self.outputs)
        return f"{self.name}({', '.join(f'{info.name}: {info}' for info in self.inputs)}) -> {results}"

    def __repr__(self) -> str:
        return f"<entry {self}>"

    def _signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters, is_optional = [], False
        for info in self.inputs:
            name = info.name if info.name.isidentifier() else info.name.replace(".", "_")
            is_optional |= info.is_state
            parameters.append(inspect.Parameter(name, kind, annotation=str(info), default=None if is_optional else inspect.Parameter.empty))
        if "out" not in self._places:
            parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        results = [str(info) for info in self.outputs]
        returns = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return inspect.Signature(parameters, return_annotation=returns)

    def _describe(self) -> str:
        lines = []
        for info in self.inputs:
            notes = [f"indices from 0 to {info.below - 1}"] if info.below else []
            notes += ["may be left out: it is what the last call has left"] if info.is_state else []
            notes += [f"or {'pictures' if info.media == 'image' else 'sounds'}: paths, bytes of files"
                      + (", Pillow's images, arrays of uint8" if info.media == "image" else "")] if info.media else []
            lines.append(f"    {info.name}: {info}" + (", " + ", ".join(notes) if notes else ""))
        return "\n".join(["Inputs:", *lines, "Outputs:", *(f"    {info.name}: {info}" for info in self.outputs)])

    def _bind(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments in the entry's order; None for a state that is left out."""
        if len(arguments) > len(self.inputs):
            raise InputTypeError(f"entry `{self.name}` takes {len(self.inputs)} inputs, got {len(arguments)}", code="R0102",
                                 help=f"its inputs are {names(self._places)}")
        bound = list(arguments) + [None] * (len(self.inputs) - len(arguments))
        for name, value in named.items():
            place = self._places.get(name)
            if place is None:
                raise InputTypeError(f"entry `{self.name}` has no input `{name}`", code="R0102",
                                     help=nearest(name, self._places, "its inputs"))
            if place < len(arguments):
                raise InputTypeError(f"input `{name}` of entry `{self.name}` is given twice, by place and by name", code="R0102",
                                     help="give it once")
            bound[place] = value
        missing = [info.name for info, value in zip(self.inputs, bound) if value is None and not info.is_state]
        if missing:
            raise InputTypeError(f"entry `{self.name}` lacks input {names(missing)}", code="R0102",
                                 help=f"call it as `{self.name}({', '.join(self._places)})`")
        return bound

    def _what(self, kind: str, info: Info) -> str:
        return f"{kind} `{info.name}` of entry `{self.name}`"

    def _views(self, bound: Sequence[Any]) -> list[Optional[View]]:
        views: list[Optional[View]] = []
        for place, (info, value) in enumerate(zip(self.inputs, bound)):
            if value is not None and info.media:
                value = load_media(self._library, self._model, self._number, place, info, value, self._what("input", info))
            views.append(None if value is None else view_of_input(value, info.number, self._what("input", info)))
        return views

    def _plan(self, key: tuple[Any, ...], views: Sequence[Optional[View]]) -> _Plan:
        """The tensors for these shapes, which are checked; what they are is kept for calls to come."""
        self._state.check()
        plan = _Plan(len(self.inputs), len(self.outputs))
        for tensor, view in zip(plan.given, views):
            if view is not None:
                if len(view.shape) > 8:
                    raise InputError(f"an input of entry `{self.name}` has {len(view.shape)} axes, expected at most 8", code="R0202")
                view.fill(tensor)
                tensor.data = view.pointer or 1  # an empty array may lie nowhere
        self._library.call("attn_infer_shapes", self._state.pointer, self._number, plan.given, plan.made)
        plan.shapes = [tuple(tensor.shape[:tensor.rank]) for tensor in plan.made][:len(self.outputs)]
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _outputs(self, out: Any, plan: _Plan) -> list[Any]:
        """The caller's arrays in the entry's order; new ones for what a mapping lacks."""
        known = [info.name for info in self.outputs]
        if isinstance(out, Mapping):
            for name in out:
                if name not in known:
                    raise InputTypeError(f"entry `{self.name}` has no output `{name}`", code="R0102",
                                         help=nearest(str(name), known, "its outputs"))
            return [np.empty(shape, dtype) if out.get(name) is None else out[name]
                    for name, shape, dtype in zip(known, plan.shapes, self._made)]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(known):
            raise InputTypeError(f"out= has {len(given)} arrays, entry `{self.name}` gives {len(known)}", code="R0102",
                                 help=f"pass one for each of {names(known)}, or a mapping")
        return given

    def __call__(self, *args: Any, out: Any = None, **named: Any) -> Any:
        if out is not None and "out" in self._places:
            named["out"], out = out, None
        return self._call(args, named, out, None)

    def _call(self, args: Sequence[Any], named: Mapping[str, Any], out: Any, numbers: Optional[generation.Numbers]) -> Any:
        bound = args if not named and len(args) == len(self.inputs) else self._bind(args, named)
        views: Optional[list[Optional[View]]] = None
        key: Optional[tuple[Any, ...]] = self._shapes(bound)
        if key is None:
            views = self._views(self._bind(args, named))
            key = tuple([None if view is None else view.shape for view in views])
        state = self._state
        with state.lock:
            if state.is_generating:
                state.check()
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plan(key, views if views is not None else self._views(bound))
            if views is None:
                for tensor, value in zip(plan.given, bound):
                    tensor.data = value.ctypes.data
            else:
                for tensor, view in zip(plan.given, views):
                    tensor.data = None if view is None else view.pointer
            made, held = self._make_outputs(out, plan)
            if numbers is None:
                status = self._run(state.pointer, self._number, plan.given, plan.made, state.message_address)
            else:
                status = self._generate(numbers, plan)
            if status:
                state.check()
                self._library.raise_message(status, state.message)
        del held  # and views: nothing is looked at any more
        if out is not None:
            return out
        if self._gives_bf16:
            made = [from_bf16(array) if info.number == BF16 else array for array, info in zip(made, self.outputs)]
        return made[0] if self._result is None else self._result(*made)

    def _generate(self, numbers: generation.Numbers, plan: _Plan) -> int:
        state = self._state
        state.check()
        state.is_generating = True
        try:
            return self._library.attn_generate(state.pointer, self._number, ctypes.byref(numbers.struct), plan.given, plan.made,
                                               state.message_address)
        finally:
            state.is_generating = False

    def _shapes(self, bound: Sequence[Any]) -> Optional[tuple[Any, ...]]:
        """The shapes of arrays that are all used as they are: the short way of most calls. Else None."""
        shapes = []
        for value, dtype in zip(bound, self._dtypes):
            if value.__class__ is not np.ndarray or value.dtype is not dtype or not value.flags.c_contiguous:
                return None
            shapes.append(value.shape)
        return tuple(shapes)

    def _make_outputs(self, out: Any, plan: _Plan) -> tuple[list[Any], Any]:
        """Points the tensors of a plan to new arrays, or to the caller's. Gives the arrays, and what keeps their memory."""
        if out is None:
            made = [np.empty(shape, dtype) for shape, dtype in zip(plan.shapes, self._made)]
            for tensor, array in zip(plan.made, made):
                tensor.data = array.ctypes.data
            return made, None
        made = self._outputs(out, plan)
        held = [view_of_output(value, info.number, shape, self._what("output", info))
                for value, info, shape in zip(made, self.outputs, plan.shapes)]
        for tensor, view in zip(plan.made, held):
            tensor.data = view.pointer
        return made, held

    def infer_shapes(self, *args: Any, **named: Any) -> dict[str, tuple[int, ...]]:
        """The shapes of the outputs for these inputs, which are not looked at."""
        views = self._views(self._bind(args, named))
        with self._state.lock:
            plan = self._plan(tuple(None if view is None else view.shape for view in views), views)
        return {info.name: shape for info, shape in zip(self.outputs, plan.shapes)}

    def generate(self, *args: Any, out: Any = None, on_tokens: Optional[Callable[[np.ndarray], Any]] = None,
                 on_scores: Optional[Callable[[np.ndarray], Any]] = None, **options: Any) -> Any:
        """Runs an entry that generates with other numbers than those of the spec: `limit`, `temperature`, `top_k`, `seed`, `beams`,
        `stops` and the others of attn_generation, in snake case; other names are inputs. `on_tokens` is called after each step with
        the token of each row, -1 for one that has ended; where it returns False, nothing more is written. `on_scores` is called
        before each choice with the scores, which it may change."""
        inputs = {name: options.pop(name) for name in list(options) if name in self._places}
        numbers = generation.Numbers(self._library, self._model, self._number, self.name)
        numbers.set(options)
        numbers.listen(on_tokens, on_scores)
        result = self._call(args, inputs, out, numbers)
        numbers.raise_pending()
        return result
