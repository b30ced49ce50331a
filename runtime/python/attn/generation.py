# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of a generation: those of the spec, and what a caller says instead."""
from __future__ import annotations

import ctypes
import re
import reprlib
from ctypes import c_float, c_int32, c_int64, c_uint64
from typing import Any, Callable, Mapping, Optional

import numpy as np

from ._library import Generation, Library, OnScores, OnTokens, Sampling, describe, whole_number
from .errors import ArgumentError, nearest

# Lists of tokens, by the fields of their numbers of elements.
_LISTS = {"stops": "stopCount", "suppressed": "suppressCount", "forced": "forceCount", "suppressedFirst": "suppressFirstCount",
          "forcedLast": "forceLastCount", "badWords": "badWordsCount", "held": "heldCount"}
_HIDDEN = {"sampling", "onTokens", "onScores", "user", *_LISTS.values()}


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)


# What a caller may set: snake case to the field, and whether it is one of the sampling.
FIELDS = {_snake(name): (name, struct is Sampling) for struct in (Sampling, Generation) for name, *_ in struct._fields_
          if name not in _HIDDEN}


def _number(kind: Any, name: str, value: Any) -> Any:
    """A number for a field of C."""
    if kind is c_float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ArgumentError(f"option `{name}` is {reprlib.repr(value)}, expected a number", code="R0101",
                                help=f"pass `{name}=0.5`, for example") from None
    bits = 8 * ctypes.sizeof(kind) - (kind is not c_uint64)
    value = int(value) if isinstance(value, (bool, np.bool_)) else value  # of what is on or off
    least = 0 if kind is c_uint64 else -(1 << bits)
    return whole_number(value, least, (1 << bits) - 1, f"option `{name}`", f"pass `{name}=1`, for example")


class Numbers:
    """An attn_generation, and what its pointers lead to."""

    def __init__(self, library: Library, model: int, entry: int, name: str, struct: Optional[Generation] = None):
        self.struct = struct if struct is not None else Generation()
        self._held: list[Any] = []
        self._error: Optional[BaseException] = None
        if struct is None and library.attn_generation_default(model, entry, ctypes.byref(self.struct), None):
            raise ArgumentError(f"entry `{name}` generates nothing", code="R0102", help="`entry write = unfold(...)` makes one that does")

    def set(self, options: Mapping[str, Any]) -> None:
        """Sets numbers and lists by their names in snake case."""
        for name, value in options.items():
            if name not in FIELDS:
                raise ArgumentError(f"there is no option `{name}`", code="R0101", help=nearest(name, FIELDS, "the options"))
            field, is_sampling = FIELDS[name]
            if field in _LISTS:
                self._set_list(field, name, value)
                continue
            struct = self.struct.sampling if is_sampling else self.struct
            setattr(struct, field, _number(dict(type(struct)._fields_)[field], name, value))

    def _set_list(self, field: str, name: str, value: Any) -> None:
        try:
            if field == "badWords":  # sequences, each with its length in front
                value = [token for word in value for token in (len(word), *word)]
            kind = c_int32 if field == "held" else c_int64
            tokens = [int(token) for token in value]
            array = (kind * max(len(tokens), 1))(*tokens)
        except (TypeError, ValueError):
            raise ArgumentError(f"option `{name}` is {describe(value)}, expected a list of tokens", code="R0101",
                                help=f"pass `{name}=[0]`, for example") from None
        self._held.append(array)
        setattr(self.struct, field, array)
        count = len(value) if field != "badWords" else len(tokens)
        setattr(self.struct, _LISTS[field], count)

    def listen(self, on_tokens: Optional[Callable[[np.ndarray], Any]], on_scores: Optional[Callable[[np.ndarray], Any]]) -> None:
        """Lets functions of Python be called. What they raise ends the generation, and is raised behind it."""
        if on_tokens is not None:
            def take(_: Any, tokens: Any, rows: int) -> int:
                try:
                    return int(self._error is None and on_tokens(np.ctypeslib.as_array(tokens, (rows,)).copy()) is not False)
                except BaseException as error:  # cannot go through C
                    self._error = error
                    return 0
            self.struct.onTokens = OnTokens(take)
        if on_scores is not None:
            def change(_: Any, scores: Any, rows: int, vocabulary: int) -> None:
                try:
                    if self._error is None:
                        on_scores(np.ctypeslib.as_array(scores, (rows, vocabulary)))
                except BaseException as error:
                    self._error = error
            self.struct.onScores = OnScores(change)
            if on_tokens is None:  # ends what on_scores has failed in
                self.listen(lambda tokens: True, None)

    def raise_pending(self) -> None:
        """Raises what a function of the caller's has raised."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
