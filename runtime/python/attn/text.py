# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers and chat templates, which need no model."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import c_size_t, c_void_p
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._library import Handle, Library, describe, encode_path, text_library, whole_number
from .errors import ArgumentError, InputError, InputTypeError
from .tensors import array_of

Source = Union[str, "os.PathLike[str]", bytes]


def _open(library: Library, kind: str, source: Any, what: str, *arguments: Any) -> Handle:
    """A handle of what a file, or its bytes, describe."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        pointer = library.create(f"attn_{kind}_open_memory", bytes(source), len(bytes(source)))
    else:
        pointer = library.create(f"attn_{kind}_open", encode_path(source, what), *arguments)
    return Handle(library, f"attn_{kind}_destroy", pointer)


def encode_text(text: Any, what: str) -> bytes:
    """A text for C."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")  # what is no character counts as U+FFFD
    if isinstance(text, bytes):
        return text
    raise InputTypeError(f"{what} is {describe(text)}, expected a str", code="R0201", help="pass texts one by one")


def ids_of(ids: Any) -> np.ndarray:
    """Tokens as C takes them."""
    array = array_of(ids, "ids")
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputTypeError(f"ids is {describe(ids)} of {array.dtype} with {array.ndim} axes, expected a list of whole numbers",
                             code="R0201", help="pass one row: `ids[0]`")
    if array.size and not -1 << 31 <= array.min() <= array.max() < 1 << 31:
        raise InputError(f"ids hold {array.max() if array.max() >= 1 << 31 else array.min()}, which is no i32", code="R0704",
                         help="ids are those of `encode`")
    return np.ascontiguousarray(array, np.int32)


def _id_of(id: Any) -> int:
    """One token."""
    return whole_number(id, 0, (1 << 31) - 1, "a token", "`encode` gives the ids of a text, `find` that of a token")


class Tokens(NamedTuple):
    """The tokens of a text. `offsets` [n, 2] are where each begins and ends in the bytes of the text; `origins` are 0 for tokens of
    the text, 1 for special ones that were added, 2 for padding; `types` say which of two texts a token is of."""
    ids: np.ndarray
    types: np.ndarray
    offsets: np.ndarray
    origins: np.ndarray


class Tokenizer:
    """Turns texts into ids and ids into text. `source`: a folder of Hugging Face's library, a tokenizer.json, a vocab.txt, a .model of
    SentencePiece, a GGUF file, a file of tiktoken, or the bytes of such a file. Threads may share it."""

    def __init__(self, source: Source, *, library: Optional[Library] = None):
        self.source = source
        self._library = library or text_library()
        self._handle = _open(self._library, "tokenizer", source, "the path of a tokenizer")

    def within(self, library: Library) -> "Tokenizer":
        """This tokenizer in the library of a model."""
        return self if library is self._library else Tokenizer(self.source, library=library)

    def __len__(self) -> int:
        """One more than the largest id."""
        return self._library.attn_tokenizer_size(self._handle.pointer)

    def encode(self, text: str, pair: Optional[str] = None, *, special: bool = True, special_as_text: bool = False,
               truncate: bool = False, pad: bool = False) -> Tokens:
        """The tokens of a text, or of two that belong together. `special`: with the special tokens around; `special_as_text`: "<s>" in
        a text is four characters; `truncate` and `pad` as a tokenizer.json says."""
        flags = (c.TEXT_ADD_SPECIAL * bool(special) + c.TEXT_SPECIAL_AS_TEXT * bool(special_as_text) + c.TEXT_TRUNCATE * bool(truncate)
                 + c.TEXT_PAD * bool(pad))
        first, tokens = encode_text(text, "a text"), c.Tokens()
        if pair is None:
            self._library.call("attn_tokenizer_encode", self._handle.pointer, first, len(first), flags, ctypes.byref(tokens))
        else:
            second = encode_text(pair, "a text")
            self._library.call("attn_tokenizer_encode_pair", self._handle.pointer, first, len(first), second, len(second), flags,
                               ctypes.byref(tokens))

        def copy(pointer: Any, dtype: Any) -> np.ndarray:
            return np.array(np.ctypeslib.as_array(pointer, (tokens.count,)), dtype) if tokens.count else np.empty(0, dtype)
        try:
            return Tokens(copy(tokens.ids, np.int32), copy(tokens.types, np.int32),
                          np.stack([copy(tokens.begins, np.int64), copy(tokens.ends, np.int64)], axis=1), copy(tokens.origins, np.uint8))
        finally:
            self._library.attn_tokens_free(ctypes.byref(tokens))

    def decode(self, ids: Any, *, skip_special: bool = True) -> str:
        """The text of ids."""
        array, text, size = ids_of(ids), c_void_p(), c_size_t()
        self._library.call("attn_tokenizer_decode", self._handle.pointer, array.ctypes.data, array.size, int(skip_special),
                           ctypes.byref(text), ctypes.byref(size))
        try:
            return ctypes.string_at(text, size.value).decode()
        finally:
            self._library.attn_message_free(text)

    def find(self, token: Union[str, bytes]) -> Optional[int]:
        """The id of a token as the vocabulary writes it; None where there is none."""
        encoded = encode_text(token, "a token")
        found = self._library.attn_tokenizer_find(self._handle.pointer, encoded, len(encoded))
        return None if found < 0 else found

    def token(self, id: int) -> Optional[bytes]:
        """The bytes of a token as the vocabulary writes it; None where there is none."""
        size = c_size_t()
        found = self._library.attn_tokenizer_token(self._handle.pointer, _id_of(id), ctypes.byref(size))
        return ctypes.string_at(found, size.value) if found else None

    def is_special(self, id: int) -> bool:
        """Whether a token stands for no text, such as the end."""
        return bool(self._library.attn_tokenizer_is_special(self._handle.pointer, _id_of(id)))

    def decoding(self, *, skip_special: bool = True, after: Any = ()) -> "Decoding":
        """Decodes token by token, behind tokens whose text has been shown."""
        return Decoding(self, skip_special, after)


class Decoding:
    """Text that grows with each token. Serves one thread at a time."""

    def __init__(self, tokenizer: Tokenizer, skip_special: bool = True, after: Any = ()):
        self._library = library = tokenizer._library
        pointer = library.create("attn_decoding_create", tokenizer._handle.pointer, int(skip_special))
        self._handle = Handle(library, "attn_decoding_destroy", pointer, tokenizer._handle)
        shown = ids_of(after)
        if shown.size:
            library.call("attn_decoding_follow", pointer, shown.ctypes.data, shown.size)

    def _take(self, name: str, *arguments: Any) -> str:
        text, size = c_void_p(), c_size_t()
        self._library.call(name, self._handle.pointer, *arguments, ctypes.byref(text), ctypes.byref(size))
        return ctypes.string_at(text, size.value).decode()

    def add(self, id: int) -> str:
        """The text that a token completes; empty while a character is not complete."""
        return self._take("attn_decoding_add", _id_of(id))

    def finish(self) -> str:
        """What was held back; it begins anew."""
        return self._take("attn_decoding_finish")


class ChatTemplate:
    """Makes one text of the turns of a chat. `source`: a folder, or a file in it, with a chat_template.jinja, a tokenizer_config.json or
    a chat_template.json; a GGUF file; or the bytes of a template or of a tokenizer_config.json. `which` of several, by name."""

    def __init__(self, source: Source, which: Optional[str] = None, *, library: Optional[Library] = None):
        self.source, self.which = source, which
        self._library = library or text_library()
        self._handle = _open(self._library, "chat_template", source, "the path of a chat template",
                             None if which is None else encode_text(which, "which="))

    def within(self, library: Library) -> "ChatTemplate":
        """This template in the library of a model."""
        return self if library is self._library else ChatTemplate(self.source, self.which, library=library)

    def render(self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True, **variables: Any) -> str:
        """The text of messages, each with `role` and `content`; what else the template takes (`tools`, ...) goes by name."""
        try:
            encoded = json.dumps({"messages": list(messages), "add_generation_prompt": add_generation_prompt, **variables}).encode()
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"messages and variables are no JSON: {error}", code="R0101",
                                help='pass mappings: {"role": "user", "content": "..."}') from None
        text, size = c_void_p(), c_size_t()
        self._library.call("attn_chat_template_render", self._handle.pointer, encoded, len(encoded), ctypes.byref(text), ctypes.byref(size))
        try:
            return ctypes.string_at(text, size.value).decode()
        finally:
            self._library.attn_message_free(text)


__all__ = ["ChatTemplate", "Decoding", "Tokenizer", "Tokens"]
