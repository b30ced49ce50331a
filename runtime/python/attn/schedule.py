# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedulers: requests of many users that share the steps of one model."""
from __future__ import annotations

import ctypes
from ctypes import c_int32, c_int64
from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import generation
from ._library import (ENDINGS, Handle, Logprobs, OnEnd, OnLogprobs, Request, RequestResult, ScheduleOptions, describe, whole_number)
from .errors import ArgumentError, InputError, from_message
from .model import Model
from .writing import find_entry


class Submitted:
    """A request: `tokens` are those that were chosen so far; `ending` is why it ended, None before. `logprobs` has for each token its
    own logarithm of a probability and a mapping of the likeliest tokens to theirs, where they were asked for."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.logprobs: list[tuple[float, dict[int, float]]] = []
        self.ending: Optional[str] = None
        self.kept = self.read = self.preempted = 0
        self.wait_seconds = self.read_seconds = self.write_seconds = 0.0
        self.number = 0
        self._error: Optional[BaseException] = None

    @property
    def is_done(self) -> bool:
        """Whether it has ended. An error that ended it is raised."""
        if self._error is not None:
            raise self._error
        return self.ending is not None

    def __repr__(self) -> str:
        return f"<request {self.number}: {len(self.tokens)} tokens" + (f", ended by {self.ending}>" if self.ending else ">")


class Scheduler:
    """Runs requests of an entry that generates together, by one `forward by B last T`: each step adds one token to every row that writes, and pieces of the
    prompts that are still to be read. A request gets the same tokens whatever others there are.

        scheduler = attn.Scheduler(model)
        request = scheduler.submit([1, 2, 3], limit=20)
        while scheduler.step():
            pass
        request.tokens

    `step_tokens` and `read_tokens`: of prompts that a step reads at most, where other rows wait for a token, and else. `rows`: requests
    that share steps. `memory`: bytes of caches."""

    def __init__(self, model: Model, entry: Optional[str] = None, threads: int = 0, *, step_tokens: Optional[int] = None,
                 read_tokens: Optional[int] = None, rows: Optional[int] = None, memory: Optional[int] = None):
        self._model, self._library = model, model._library
        pointer = model._model.pointer or 0
        # The entry that generates says how tokens are chosen, another one runs the steps.
        self._writes = find_entry(model, entry, lambda own: self._library.attn_model_shared_entry(pointer, own._number) >= 0, "shares steps")
        self._entry = self._library.attn_model_shared_entry(pointer, self._writes)
        if self._entry < 0:
            raise ArgumentError(f"entry `{entry}` shares no steps", code="R0101",
                                help="write `entry serve = forward by B last T` beside an entry that unfolds others of `forward`")
        options = ScheduleOptions()
        self._library.call("attn_schedule_options_default", pointer, self._entry, ctypes.byref(options))
        for field, name, value in (("stepTokens", "step_tokens", step_tokens), ("readTokens", "read_tokens", read_tokens),
                                   ("mostRows", "rows", rows), ("memory", "memory", memory)):
            if value is not None:
                setattr(options, field, whole_number(value, 1, (1 << 62), f"{name}=", f"pass `{name}=64`, for example"))
        self._context = model.context(threads)
        self._handle = Handle(self._library, "attn_scheduler_destroy",
                              self._library.create("attn_scheduler_create", self._context._state.pointer, self._entry, ctypes.byref(options)),
                              self._context)
        self._held: dict[int, Any] = {}

    def _pointer(self) -> int:
        if not self._handle.pointer:
            raise InputError("the scheduler is closed", code="R0101", help="make another one: `attn.Scheduler(model)`")
        return self._handle.pointer

    def submit(self, tokens: Sequence[int], *, priority: int = 0, logprobs: Optional[int] = None,
               on_token: Optional[Callable[[int], Any]] = None, on_scores: Optional[Callable[[np.ndarray], Any]] = None,
               on_end: Optional[Callable[[Submitted], Any]] = None, **options: Any) -> Submitted:
        """Adds a request that goes on from a prompt. `priority`: larger ones go first. `logprobs`: how many likeliest tokens are told
        for each. `on_token` is called with each token, and ends the request where it returns False; `on_scores` may change the scores
        [1, V] before a choice, in any thread. `options`: numbers as of `Entry.generate`."""
        try:
            given = np.ascontiguousarray(tokens, np.int32)
        except (TypeError, ValueError, OverflowError):
            given = np.zeros((0, 0), np.int32)
        if given.ndim != 1:
            raise ArgumentError(f"the prompt is {describe(tokens)}, expected a list of tokens", code="R0101", help="pass `[1, 2, 3]`")
        pointer, submitted = self._pointer(), Submitted()
        numbers = generation.Numbers(self._library, self._model._model.pointer or 0, self._writes, self._model.name)
        numbers.set(options)

        def take(row: np.ndarray) -> bool:
            submitted.tokens.append(int(row[0]))
            return on_token is None or on_token(int(row[0])) is not False
        numbers.listen(take, on_scores)

        def note(_: Any, told: Any) -> None:
            chosen = ctypes.cast(told, ctypes.POINTER(Logprobs))[0]
            submitted.logprobs.append((chosen.logprob, {chosen.tokens[i]: chosen.logprobs[i] for i in range(chosen.count)}))

        def end(_: Any, told: Any) -> None:
            result = ctypes.cast(told, ctypes.POINTER(RequestResult))[0]
            submitted.kept, submitted.read, submitted.preempted = result.kept, result.read, result.preempted
            submitted.wait_seconds, submitted.read_seconds, submitted.write_seconds = (result.waitSeconds, result.readSeconds,
                                                                                       result.writeSeconds)
            submitted.ending = ENDINGS[result.ending]
            try:
                if result.status:
                    submitted._error = from_message(result.status, (result.message or b"").decode(errors="replace"))
                numbers.raise_pending()
                if on_end is not None:
                    on_end(submitted)
            except BaseException as error:  # cannot go through C
                submitted._error = error
            self._held.pop(id(submitted), None)
        request = Request(numbers.struct, given.ctypes.data_as(ctypes.POINTER(c_int32)), len(given), priority, logprobs or 0,
                          OnLogprobs(note) if logprobs is not None else OnLogprobs(), OnEnd(end), None)
        number = c_int64()
        self._held[id(submitted)] = (request, numbers)
        try:
            self._library.call("attn_scheduler_submit", pointer, ctypes.byref(request), ctypes.byref(number))
        except BaseException:
            del self._held[id(submitted)]
            raise
        submitted.number = number.value
        return submitted

    def cancel(self, request: Submitted) -> None:
        """Ends a request before the next step; one that has ended is left alone."""
        self._library.attn_scheduler_cancel(self._pointer(), request.number)

    def step(self) -> bool:
        """Runs one step; whether there are requests afterwards."""
        is_busy = c_int32()
        self._library.call("attn_scheduler_step", self._pointer(), ctypes.byref(is_busy))
        return bool(is_busy.value)

    @property
    def counts(self) -> dict[str, int]:
        """What it has done, and has to do, by the names of attn_schedule_counts."""
        counts = self._library.attn_scheduler_counts(self._pointer())
        return {name: getattr(counts, name) for name, _ in counts._fields_}

    def close(self) -> None:
        """Ends all requests, and gives the memory back now."""
        self._handle.close()
        self._context.close()
