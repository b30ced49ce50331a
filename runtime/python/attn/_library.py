# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C API by ctypes: the structs and prototypes of attn/attn.h, attn/caches.h, attn/rows.h, attn/schedule.h,
attn/text.h and attn/compiler.h, and how a library is loaded.

test/python/layouts.test compares all of this with the headers."""
from __future__ import annotations

import ctypes
import functools
import operator
import os
import pathlib
import reprlib
import shutil
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint8, c_uint64,
                    c_void_p)
from typing import Any, Iterator, Optional

from .errors import ArgumentError, FileError, from_message

MAX_RANK = 8
CPU, CUDA, CUDA_HOST = 1, 2, 3
FILE_TOKENIZER, FILE_CHAT_TEMPLATE, FILE_LABELS = 0, 1, 2
TEXT_ADD_SPECIAL, TEXT_SPECIAL_AS_TEXT, TEXT_TRUNCATE, TEXT_PAD = 1, 2, 4, 8
ERROR, WARNING = 0, 1  # ATTN_COMPILER_*
ENDINGS = ("token", "limit", "stop", "caller", "context")  # ATTN_TEXT_ENDED_BY_*

Shape = c_int64 * MAX_RANK
OnTokens = CFUNCTYPE(c_int32, c_void_p, POINTER(c_int32), c_int64)
OnScores = CFUNCTYPE(None, c_void_p, POINTER(c_float), c_int64, c_int64)
OnLogprobs = CFUNCTYPE(None, c_void_p, c_void_p)
OnEnd = CFUNCTYPE(None, c_void_p, c_void_p)
OnText = CFUNCTYPE(c_int32, c_void_p, POINTER(ctypes.c_char), c_size_t)
OnSpeech = CFUNCTYPE(c_int32, c_void_p, c_double, c_double, POINTER(ctypes.c_char), c_size_t)


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("shape", Shape), ("strides", c_void_p),
                ("deviceKind", c_int32), ("deviceIndex", c_int32)]


class NamedTensor(Structure):
    _fields_ = [("name", c_char_p), ("tensor", Tensor)]


class TensorInfo(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", Shape), ("isDynamic", c_int32 * MAX_RANK),
                ("axisNames", c_char_p * MAX_RANK), ("below", c_int64), ("isState", c_int32)]


class CacheInfo(Structure):
    _fields_ = [("name", c_char_p), ("capacity", c_int64)]


class Sampling(Structure):
    _fields_ = [("temperature", c_float), ("topP", c_float), ("minP", c_float), ("repetition", c_float), ("topK", c_int32),
                ("seed", c_uint64), ("typicalP", c_float), ("epsilon", c_float), ("eta", c_float), ("topH", c_float)]


class Generation(Structure):
    _fields_ = [("sampling", Sampling), ("limit", c_int64), ("stopCount", c_int32), ("stops", POINTER(c_int64)),
                ("onTokens", OnTokens), ("user", c_void_p), ("beams", c_int32), ("lengthPenalty", c_float),
                ("suppressCount", c_int32), ("forceCount", c_int32), ("suppressed", POINTER(c_int64)), ("forced", POINTER(c_int64)),
                ("continues", c_int32), ("suppressFirstCount", c_int32), ("suppressedFirst", POINTER(c_int64)),
                ("onScores", OnScores), ("sourceRepetition", c_float), ("noRepeat", c_int32), ("sourceNoRepeat", c_int32),
                ("minTokens", c_int32), ("minLength", c_int32), ("maxLength", c_int32), ("decayFrom", c_int32), ("decay", c_float),
                ("renormalizes", c_int32), ("earlyStopping", c_int32), ("forceLastCount", c_int32), ("badWordsCount", c_int32),
                ("forcedLast", POINTER(c_int64)), ("badWords", POINTER(c_int64)), ("heldCount", c_int64), ("held", POINTER(c_int32))]


class Tokens(Structure):
    _fields_ = [("count", c_int64), ("ids", POINTER(c_int32)), ("types", POINTER(c_int32)), ("begins", POINTER(c_int64)),
                ("ends", POINTER(c_int64)), ("origins", POINTER(c_uint8))]


class TextOptions(Structure):
    _fields_ = [("numbers", Generation), ("stopCount", c_int32), ("stops", POINTER(c_char_p)), ("flags", c_int32),
                ("truncates", c_int32), ("onText", OnText), ("user", c_void_p), ("shownCount", c_int32), ("shown", POINTER(c_char_p)),
                ("matcher", c_void_p), ("onLogprobs", OnLogprobs), ("logprobs", c_int32)]


class TextResult(Structure):
    _fields_ = [("kept", c_int64), ("read", c_int64), ("written", c_int64), ("readSeconds", c_double), ("writeSeconds", c_double),
                ("ending", c_int32)]


class ScheduleOptions(Structure):
    _fields_ = [("stepTokens", c_int64), ("readTokens", c_int64), ("mostRows", c_int64), ("memory", c_int64)]


class RequestResult(Structure):
    _fields_ = [("kept", c_int64), ("read", c_int64), ("written", c_int64), ("preempted", c_int64), ("waitSeconds", c_double),
                ("readSeconds", c_double), ("writeSeconds", c_double), ("ending", c_int32), ("status", c_int32), ("message", c_char_p)]


class Logprobs(Structure):
    _fields_ = [("token", c_int32), ("logprob", c_float), ("count", c_int32), ("tokens", POINTER(c_int32)), ("logprobs", POINTER(c_float))]


class Request(Structure):
    _fields_ = [("numbers", Generation), ("tokens", POINTER(c_int32)), ("count", c_int64), ("priority", c_int32), ("logprobs", c_int32),
                ("onLogprobs", OnLogprobs), ("onEnd", OnEnd), ("user", c_void_p)]


class ScheduleCounts(Structure):
    _fields_ = [(name, c_int64) for name in ("waiting", "running", "ended", "preempted", "steps", "keptTokens", "readTokens",
                                             "writtenTokens", "usedBytes", "keptBytes")]


class CompilerFile(Structure):
    _fields_ = [("name", c_char_p), ("text", c_char_p), ("size", c_size_t)]


class CompilerDiagnostic(Structure):
    _fields_ = [("severity", c_int32), ("code", c_char_p), ("message", c_char_p), ("label", c_char_p), ("file", c_char_p),
                ("line", c_int32), ("column", c_int32), ("endLine", c_int32), ("endColumn", c_int32), ("noteCount", c_int32),
                ("helpCount", c_int32), ("notes", POINTER(c_char_p)), ("helps", POINTER(c_char_p)), ("json", c_char_p)]


# The structs by their names in C.
STRUCTS = {"attn_tensor": Tensor, "attn_named_tensor": NamedTensor, "attn_tensor_info": TensorInfo, "attn_cache_info": CacheInfo,
           "attn_sampling": Sampling, "attn_generation": Generation, "attn_tokens": Tokens, "attn_text_options": TextOptions,
           "attn_schedule_options": ScheduleOptions, "attn_request_result": RequestResult, "attn_logprobs": Logprobs,
           "attn_request": Request, "attn_schedule_counts": ScheduleCounts,
           "attn_text_result": TextResult, "attn_compiler_file": CompilerFile, "attn_compiler_diagnostic": CompilerDiagnostic}

_message = POINTER(c_char_p)
_out = POINTER(c_void_p)
# What each function returns and takes. Those that a library has not are passed by: text, pictures, sounds.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "attn_message_free": (None, c_void_p),
    "attn_model_create": (c_int32, c_void_p, c_char_p, _out, _message),
    "attn_model_destroy": (None, c_void_p),
    "attn_model_name": (c_char_p, c_void_p),
    "attn_model_version": (c_char_p, c_void_p),
    "attn_model_precision": (c_char_p, c_void_p),
    "attn_model_level": (c_char_p, c_void_p),
    "attn_model_description": (c_char_p, c_void_p),
    "attn_model_embedded_file": (c_void_p, c_void_p, c_int32, POINTER(c_size_t)),
    "attn_model_entry_count": (c_int32, c_void_p),
    "attn_model_entry_name": (c_char_p, c_void_p, c_int32),
    "attn_model_input_count": (c_int32, c_void_p, c_int32),
    "attn_model_output_count": (c_int32, c_void_p, c_int32),
    "attn_model_input": (c_int32, c_void_p, c_int32, c_int32, POINTER(TensorInfo)),
    "attn_model_output": (c_int32, c_void_p, c_int32, c_int32, POINTER(TensorInfo)),
    "attn_model_batch_dim": (c_int32, c_void_p, c_int32),
    "attn_model_cache_count": (c_int32, c_void_p),
    "attn_model_cache": (c_int32, c_void_p, c_int32, POINTER(CacheInfo)),
    "attn_model_packed_bytes": (c_int64, c_void_p),
    "attn_model_has_weights": (c_int32, c_void_p),
    "attn_model_bind_file": (c_int32, c_void_p, c_char_p, _message),
    "attn_model_bind_memory": (c_int32, c_void_p, c_char_p, c_size_t, _message),
    "attn_model_bind_tensors": (c_int32, c_void_p, POINTER(NamedTensor), c_size_t, _message),
    "attn_model_bind_random": (c_int32, c_void_p, c_uint64, _message),
    "attn_context_create": (c_int32, c_void_p, c_int32, _out, _message),
    "attn_context_set_device": (c_int32, c_void_p, c_int32, c_int32, _message),
    "attn_context_destroy": (None, c_void_p),
    "attn_context_code": (c_char_p, c_void_p),
    "attn_context_threads": (c_int32, c_void_p),
    "attn_context_reset": (c_int32, c_void_p, _message),
    "attn_context_copy": (c_int32, c_void_p, c_void_p, _message),
    "attn_context_save": (c_int32, c_void_p, _out, POINTER(c_size_t), _message),
    "attn_context_load": (c_int32, c_void_p, c_char_p, c_size_t, _message),
    "attn_cache_length": (c_int64, c_void_p, c_int32),
    "attn_cache_truncate": (c_int32, c_void_p, c_int32, c_int64, _message),
    "attn_model_rows_dim": (c_int32, c_void_p, c_int32),
    "attn_row_create": (c_int32, c_void_p, _out, _message),
    "attn_row_destroy": (None, c_void_p),
    "attn_row_length": (c_int64, c_void_p, c_int32),
    "attn_row_truncate": (c_int32, c_void_p, c_int32, c_int64, _message),
    "attn_row_copy": (c_int32, c_void_p, c_void_p, _message),
    "attn_run_rows": (c_int32, c_void_p, c_int32, POINTER(c_void_p), POINTER(c_int64), c_int64, POINTER(Tensor), POINTER(Tensor),
                      _message),
    "attn_model_shared_entry": (c_int32, c_void_p, c_int32),
    "attn_schedule_options_default": (c_int32, c_void_p, c_int32, POINTER(ScheduleOptions), _message),
    "attn_scheduler_create": (c_int32, c_void_p, c_int32, POINTER(ScheduleOptions), _out, _message),
    "attn_scheduler_destroy": (None, c_void_p),
    "attn_scheduler_submit": (c_int32, c_void_p, POINTER(Request), POINTER(c_int64), _message),
    "attn_scheduler_cancel": (None, c_void_p, c_int64),
    "attn_scheduler_step": (c_int32, c_void_p, POINTER(c_int32), _message),
    "attn_scheduler_run": (None, c_void_p),
    "attn_scheduler_stop": (None, c_void_p),
    "attn_scheduler_counts": (ScheduleCounts, c_void_p),
    "attn_infer_shapes": (c_int32, c_void_p, c_int32, POINTER(Tensor), POINTER(Tensor), _message),
    # Of each call: ctypes passes what it is given without looking at types, which takes less time.
    "attn_run": (c_int32,),
    "attn_generation_default": (c_int32, c_void_p, c_int32, POINTER(Generation), _message),
    "attn_generate": (c_int32, c_void_p, c_int32, POINTER(Generation), POINTER(Tensor), POINTER(Tensor), _message),
    "attn_image_load": (c_int32, c_void_p, c_int32, c_int32, c_char_p, c_void_p, _message),
    "attn_sound_load": (c_int32, c_void_p, c_int32, c_int32, c_char_p, c_void_p, _message),
    "attn_tokenizer_open": (c_int32, c_char_p, _out, _message),
    "attn_tokenizer_open_memory": (c_int32, c_char_p, c_size_t, _out, _message),
    "attn_tokenizer_destroy": (None, c_void_p),
    "attn_tokenizer_size": (c_int32, c_void_p),
    "attn_tokenizer_find": (c_int32, c_void_p, c_char_p, c_size_t),
    "attn_tokenizer_token": (c_void_p, c_void_p, c_int32, POINTER(c_size_t)),
    "attn_tokenizer_is_special": (c_int32, c_void_p, c_int32),
    "attn_tokenizer_encode": (c_int32, c_void_p, c_char_p, c_size_t, c_int32, POINTER(Tokens), _message),
    "attn_tokenizer_encode_pair": (c_int32, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_int32, POINTER(Tokens), _message),
    "attn_tokens_free": (None, POINTER(Tokens)),
    "attn_tokenizer_decode": (c_int32, c_void_p, c_void_p, c_int64, c_int32, _out, POINTER(c_size_t), _message),
    "attn_decoding_create": (c_int32, c_void_p, c_int32, _out, _message),
    "attn_decoding_follow": (c_int32, c_void_p, c_void_p, c_int64, _message),
    "attn_decoding_add": (c_int32, c_void_p, c_int32, _out, POINTER(c_size_t), _message),
    "attn_decoding_finish": (c_int32, c_void_p, _out, POINTER(c_size_t), _message),
    "attn_decoding_destroy": (None, c_void_p),
    "attn_chat_template_open": (c_int32, c_char_p, c_char_p, _out, _message),
    "attn_chat_template_open_memory": (c_int32, c_char_p, c_size_t, _out, _message),
    "attn_chat_template_destroy": (None, c_void_p),
    "attn_chat_template_render": (c_int32, c_void_p, c_char_p, c_size_t, _out, POINTER(c_size_t), _message),
    "attn_text_create": (c_int32, c_void_p, c_int32, c_void_p, _out, _message),
    "attn_text_destroy": (None, c_void_p),
    "attn_text_options_default": (c_int32, c_void_p, POINTER(TextOptions), _message),
    "attn_text_prompt": (c_int32, c_void_p, c_char_p, c_size_t, POINTER(TextOptions), _message),
    "attn_text_generate": (c_int32, c_void_p, POINTER(TextOptions), POINTER(TextResult), _message),
    "attn_chat_create": (c_int32, c_void_p, c_void_p, _out, _message),
    "attn_chat_destroy": (None, c_void_p),
    "attn_chat_add": (c_int32, c_void_p, c_char_p, c_char_p, c_size_t, _message),
    "attn_chat_answer": (c_int32, c_void_p, POINTER(TextOptions), POINTER(TextResult), _message),
    "attn_compile": (c_int32, POINTER(c_char_p), c_int32, POINTER(CompilerFile), c_int32, _out),
    "attn_compiler_diagnostic_count": (c_int32, c_void_p),
    "attn_compiler_diagnostic_at": (POINTER(CompilerDiagnostic), c_void_p, c_int32),
    "attn_compiler_result_destroy": (None, c_void_p),
    "attn_text_embed": (c_int32, c_void_p, c_int32, c_void_p, c_char_p, c_size_t, c_int32, _out, POINTER(c_int64), _message),
}


class Library:
    """A loaded library. Functions of the C API are attributes; `call` makes exceptions of their messages."""

    def __init__(self, handle: ctypes.CDLL):
        self.handle = handle
        for name, (result, *arguments) in PROTOTYPES.items():
            function = getattr(self.handle, name, None)
            if function is not None:
                function.restype = result
                if name != "attn_run":
                    function.argtypes = arguments
            setattr(self, name, function)
        # malloc's, for what the caller of the C API frees.
        self.free = ctypes.CDLL(None).free
        self.free.argtypes, self.free.restype = [c_void_p], None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    @property
    def has_text(self) -> bool:
        return self.attn_tokenizer_open is not None

    def raise_message(self, status: int, message: c_char_p) -> None:
        """Raises the exception of a message, which is freed."""
        text = (message.value or b"error[R0401]: no memory").decode(errors="replace")
        self.attn_message_free(ctypes.cast(message, c_void_p))
        message.value = None
        raise from_message(status, text)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function whose last argument is the message."""
        message = c_char_p()
        status = getattr(self, name)(*arguments, ctypes.byref(message))
        if status:
            self.raise_message(status, message)

    def create(self, name: str, *arguments: Any) -> int:
        """The handle that a function makes whose last arguments are the handle and the message."""
        handle = c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle.value or 0


    def embedded_file(self, model: int, number: int) -> Optional[bytes]:
        """The bytes of a file that is embedded in an artifact (ATTN_FILE_*)."""
        size = c_size_t()
        found = self.attn_model_embedded_file(model, number, ctypes.byref(size))
        return ctypes.string_at(found, size.value) if found else None


_libraries: dict[int, Library] = {}


def open_library(path: str) -> Library:
    """Loads a library, or finds it among those that are. None is unloaded: threads may be in its code."""
    handle = ctypes.CDLL(path)
    if handle._handle not in _libraries:
        _libraries[handle._handle] = Library(handle)
    return _libraries[handle._handle]


class Handle:
    """An object of the C API that is destroyed with this one, and what it needs that long."""

    def __init__(self, library: Library, destroy: str, pointer: int, *needs: Any):
        self.library, self.pointer, self.needs = library, pointer, needs
        self._destroy = getattr(library, destroy)

    def close(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer:
            self._destroy(pointer)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.close()


def encode_path(path: Any, what: str) -> bytes:
    """A path, or another name, for C."""
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise ArgumentError(f"{what} is {describe(path)}, expected a path", code="R0101",
                            help="pass a str or a pathlib.Path") from None
    except UnicodeEncodeError:
        raise ArgumentError(f"{what} has characters that are none", code="R0101", help="pass the path of a file") from None
    if b"\0" in encoded:
        raise ArgumentError(f"{what} has a NUL in it", code="R0101", help="pass the path of a file")
    return encoded


def read_file(path: Any) -> bytes:
    """The bytes of a file."""
    name = os.fsdecode(encode_path(path, "the path of a file"))
    try:
        return pathlib.Path(name).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read `{name}`: {error.strerror}", code="R0501") from None


def write_file(path: Any, data: bytes) -> None:
    """Writes a file, which appears whole or not at all."""
    name = os.fsdecode(encode_path(path, "the path of a file"))
    part = f"{name}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, name)
    except OSError as error:
        if os.path.exists(part):
            os.remove(part)
        raise FileError(f"cannot write `{name}`: {error.strerror}", code="R0502") from None


def whole_number(value: Any, least: int, most: int, what: str, help: str) -> int:
    """A whole number within bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise ArgumentError(f"{what} is {reprlib.repr(value)}, expected a whole number from {least} to {most}", code="R0101", help=help)
    return number


def describe(value: Any) -> str:
    """What a value is, for messages: "a list", "an int"."""
    name = type(value).__name__
    return "None" if value is None else ("an " if name[:1].lower() in "aeiou" else "a ") + name


def _places(name: str) -> Iterator[pathlib.Path]:
    """Where a library of Attn's may lie: in the `lib` that this package is installed in, in dist-packages, and beside `attn`."""
    folders = pathlib.Path(__file__).resolve().parents
    if len(folders) > 3 and folders[3].name == "lib":
        yield folders[3] / name
    found = shutil.which("attn")
    if found:
        yield pathlib.Path(found).resolve().parent.parent / "lib" / name


@functools.cache
def find_library(name: str) -> Library:
    """One of Attn's libraries: of this installation, beside `attn`, or where the system's loader finds it."""
    path = next((str(place) for place in _places(name) if place.is_file()), name)
    try:
        return open_library(path)
    except OSError as error:
        raise FileError(f"cannot load `{path}`: {error}", help="put the folder of `attn` into PATH, beside which `lib` has it") from None


def text_library() -> Library:
    """The tokenizers, which need no model."""
    return find_library("libattn_text.so")


def compiler_library() -> Library:
    """The compiler."""
    return find_library("libattn-compiler.so")
