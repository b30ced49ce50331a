# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model and a tokenizer together: text in, text out; chats; vectors of texts."""
from __future__ import annotations

import ctypes
import queue
import reprlib
import threading
from ctypes import c_char_p, c_int64, c_void_p
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._library import Handle
from .context import Context
from .errors import ArgumentError, InputTypeError, NotFoundError, names, nearest
from .generation import FIELDS, Numbers
from .text import ChatTemplate, Source, Tokenizer, encode_text

# What a text may be told besides the numbers of a generation.
_OPTIONS = ("stop", "special", "special_as_text", "truncate")


class Result(NamedTuple):
    """What became of a text: tokens of the prompt that the caches held already (`kept`) and the others (`read`), tokens that were chosen
    (`written`), seconds up to the first one and from there, and why it ended: token, limit, stop, caller or context."""
    kept: int
    read: int
    written: int
    read_seconds: float
    write_seconds: float
    ending: str


class Stream:
    """The pieces of a text, as soon as each is known. It is written by a thread of its own, which closing ends. `result` says what
    became of it once there are no more, and `text` what has come so far."""

    def __init__(self, write: Callable[[Callable[[str], bool]], Result]):
        self.text, self.result = "", None  # type: Optional[str], Optional[Result]
        self._pieces = self._begin(write)

    def _begin(self, write: Callable[[Callable[[str], bool]], Result]) -> Iterator[str]:
        pieces: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        ended = threading.Event()

        def take(piece: str) -> bool:
            pieces.put(piece)
            return not ended.is_set() and threading.main_thread().is_alive()

        def work() -> None:
            try:
                pieces.put(write(take))
            except BaseException as error:  # raised where the pieces are read
                pieces.put(error)
        thread = threading.Thread(target=work, name="attn")  # no daemon: the end of the program waits for the token in work
        thread.start()
        try:
            while True:
                piece = pieces.get()
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, Result):
                    self.result = piece
                    return
                self.text += piece
                yield piece
        finally:
            ended.set()
            thread.join()

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> str:
        return next(self._pieces)

    def read(self) -> str:
        """All of the text."""
        for _ in self:
            pass
        return self.text

    def close(self) -> None:
        """Ends the writing."""
        self._pieces.close()  # type: ignore[attr-defined]


def find_tokenizer(context: Context, tokenizer: Union[None, Source, Tokenizer]) -> Tokenizer:
    """The tokenizer that is given, or the one that is embedded, in the library of the model."""
    library = context._library
    context._state.check()
    if not library.has_text:
        raise NotFoundError("the model has no entry that takes text", code="R0102",
                            help="texts are for entries that generate from rows of tokens, or give an `embedding` of them")
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.within(library)
    if tokenizer is None:
        tokenizer = library.embedded_file(context._model.pointer, c.FILE_TOKENIZER)
    if tokenizer is None:
        raise ArgumentError("a text needs a tokenizer", code="U0003", help="pass tokenizer= a folder or file (tokenizer.json, ...)")
    return Tokenizer(tokenizer, library=library)


def find_entry(context: Context, entry: Optional[str], fits: Callable[[Any], bool], what: str) -> int:
    """The number of the entry of that name, or of the first one that fits."""
    if entry is not None:
        return context.entries[entry]._number
    for candidate in context.entries.values():
        if fits(candidate):
            return candidate._number
    raise NotFoundError(f"no entry {what}", code="R0102", help=f"the entries are {names(context.entries)}")


class Text:
    """Goes on from texts, by an entry that generates, in a context of its own. It knows which tokens the caches hold: of a prompt that
    begins with these, only the others are computed. `tokenizer`: the one that is embedded, where it is not given. `context` is its
    context, which runs nothing else."""

    def __init__(self, model: Context, tokenizer: Union[None, Source, Tokenizer] = None, *, entry: Optional[str] = None):
        self._library = model._library
        self.tokenizer = find_tokenizer(model, tokenizer)
        self.context = model.context()
        self._state = self.context._state
        number = find_entry(model, entry, self._generates, "generates")
        pointer = self._library.create("attn_text_create", self._state.pointer, number, self.tokenizer._handle.pointer)
        self._handle = Handle(self._library, "attn_text_destroy", pointer, self._state.handle, self.tokenizer._handle)

    def _generates(self, entry: Any) -> bool:
        numbers = c.Generation()
        return not self._library.attn_generation_default(entry._model, entry._number, ctypes.byref(numbers), None)

    def _options(self, options: Any) -> tuple[c.TextOptions, list[Any]]:
        """The options of C, and what holds their memory."""
        made = c.TextOptions()
        self._library.call("attn_text_options_default", self._handle.pointer, ctypes.byref(made))
        for name in options:
            if name not in _OPTIONS and name not in FIELDS:
                raise ArgumentError(f"there is no option `{name}`", code="R0101", help=nearest(name, [*FIELDS, *_OPTIONS], "the options"))
        numbers = Numbers(self._library, 0, 0, "", made.numbers)
        numbers.set({name: value for name, value in options.items() if name in FIELDS})
        if not options.get("special", True):
            made.flags &= ~c.TEXT_ADD_SPECIAL
        if options.get("special_as_text"):
            made.flags |= c.TEXT_SPECIAL_AS_TEXT
        made.truncates = int(bool(options.get("truncate")))
        stops = options.get("stop", ())
        stops = [stops] if isinstance(stops, str) else stops
        if not isinstance(stops, (list, tuple)) or any(not isinstance(stop, str) or "\0" in stop for stop in stops):
            raise ArgumentError(f"option `stop` is {reprlib.repr(stops)}, expected a text or a list of them", code="R0101",
                                help='pass `stop=["."]`, for example')
        array = (c_char_p * max(len(stops), 1))(*(encode_text(stop, "stop=") for stop in stops))
        made.stopCount, made.stops = len(stops), array
        return made, [numbers, array]

    def _stream(self, options: Any, write: Callable[[Any, Any], None]) -> Stream:
        """What `write` writes with options and a result of C."""
        made, held = self._options(options)
        state = self._state

        def work(take: Callable[[str], bool]) -> Result:
            failures: list[BaseException] = []

            def on_text(_: Any, text: Any, size: int) -> int:
                try:
                    return int(take(ctypes.string_at(text, size).decode()))
                except BaseException as error:  # cannot go through C
                    failures.append(error)
                    return 0
            made.onText = c.OnText(on_text)
            result = c.TextResult()
            with state.lock:
                state.check()
                write(ctypes.byref(made), ctypes.byref(result))
            if failures:
                raise failures[0]
            del held[:]
            return Result(result.kept, result.read, result.written, result.readSeconds, result.writeSeconds, c.ENDINGS[result.ending])
        return Stream(work)

    def generate(self, prompt: str, **options: Any) -> Stream:
        """What follows a prompt, piece by piece: an iterator. Options are the numbers of a generation (`limit`, `temperature`, `top_k`,
        `seed`, ...), `stop` (a text before which it ends, or several), `special` (False: no special tokens around the prompt),
        `special_as_text`, and `truncate` (True: of a prompt that is too long the beginning is left out)."""
        text = encode_text(prompt, "a prompt")

        def write(made: Any, result: Any) -> None:
            self._library.call("attn_text_prompt", self._handle.pointer, text, len(text), made)
            self._library.call("attn_text_generate", self._handle.pointer, made, result)
        return self._stream(options, write)


class Chat:
    """The turns of a chat, and a model that answers; the caches hold what has been said. `template`: a ChatTemplate, or what that is
    made of; the one that is embedded, or lies beside the tokenizer, where it is not given."""

    def __init__(self, text: Text, template: Union[None, Source, ChatTemplate] = None):
        self._text, self._library = text, text._library
        if template is None:
            template = self._library.embedded_file(text._state.handle.needs[0].pointer, c.FILE_CHAT_TEMPLATE)
        if template is None:
            template = text.tokenizer.source
        is_open = isinstance(template, ChatTemplate)
        self.template = template.within(self._library) if is_open else ChatTemplate(template, library=self._library)
        pointer = self._library.create("attn_chat_create", text._handle.pointer, self.template._handle.pointer)
        self._handle = Handle(self._library, "attn_chat_destroy", pointer, text._handle, self.template._handle)

    def add(self, role: str, content: str) -> None:
        """Adds a turn: "system", "user"."""
        if not isinstance(role, str) or "\0" in role:
            raise ArgumentError(f"the role of a turn is {reprlib.repr(role)}, expected a word", code="R0101",
                                help='pass "user", for example')
        text = encode_text(content, "the content of a turn")
        with self._text._state.lock:
            self._library.call("attn_chat_add", self._handle.pointer, encode_text(role, "the role of a turn"), text, len(text))

    def answer(self, message: Optional[str] = None, **options: Any) -> Stream:
        """Adds a turn of the user's, where there is a message, and answers, piece by piece. Options as of `Text.generate`."""
        def write(made: Any, result: Any) -> None:
            if message is not None:
                self.add("user", message)
            self._library.call("attn_chat_answer", self._handle.pointer, made, result)
        return self._text._stream(options, write)


class Embedder:
    """Makes vectors of texts, by an entry of a sentence encoder: one whose first output is an `embedding`."""

    def __init__(self, model: Context, tokenizer: Union[None, Source, Tokenizer] = None, *, entry: Optional[str] = None):
        self.tokenizer = find_tokenizer(model, tokenizer)
        self._library, self._state = model._library, model._state
        self._number = find_entry(model, entry, lambda candidate: candidate.outputs[0].name == "embedding", "gives an `embedding`")

    def __call__(self, texts: Union[str, Sequence[str]], *, truncate: bool = False) -> np.ndarray:
        """The vector [D] of a text, or [n, D] of several. `truncate`: the end of a text that is too long is left out."""
        if isinstance(texts, (str, bytes)):
            return self._embed(texts, truncate)
        try:
            rows = [self._embed(text, truncate) for text in texts]
        except TypeError as error:
            if isinstance(error, InputTypeError):
                raise
            raise InputTypeError("texts= is no text and no list of texts", code="R0201", help="pass a str, or a list of them") from None
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)

    def _embed(self, text: Any, truncate: bool) -> np.ndarray:
        encoded, values, count = encode_text(text, "a text"), c_void_p(), c_int64()
        with self._state.lock:
            self._state.check()
            self._library.call("attn_text_embed", self._state.pointer, self._number, self.tokenizer._handle.pointer, encoded, len(encoded),
                               int(truncate), ctypes.byref(values), ctypes.byref(count))
        try:
            return np.frombuffer(ctypes.string_at(values, 4 * count.value), np.float32).copy()
        finally:
            self._library.free(values)


__all__ = ["Chat", "Embedder", "Result", "Stream", "Text"]
