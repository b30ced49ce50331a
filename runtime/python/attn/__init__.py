# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that Attn compiles, from Python.

    import attn
    model = attn.load("libvit.so", weights="vit.safetensors")
    scores = model.classify(image)

NumPy's arrays go in and out, and tensors of any library that speaks DLPack, without a copy. Needs NumPy alone. `help(model.classify)`
says what an entry takes and gives; README.md beside this folder has more."""
from .compile import compile
from .context import Cache, Context
from .entry import Axis, Entry, Info
from .errors import (ArgumentError, CompileError, CompileWarning, DeviceError, Error, FileError, InputError, InputTypeError, NotFoundError,
                     OutOfMemoryError, UnknownNameError, WeightsError)
from .model import Model, load
from .schedule import Scheduler, Submitted
from .text import ChatTemplate, Decoding, Tokenizer, Tokens
from .writing import Chat, Embedder, Result, Stream, Text

__all__ = ["ArgumentError", "Axis", "Cache", "Chat", "ChatTemplate", "CompileError", "CompileWarning", "Context", "Decoding", "DeviceError",
           "Embedder", "Entry", "Error", "FileError", "Info", "InputError", "InputTypeError", "Model", "NotFoundError", "OutOfMemoryError",
           "Result", "Scheduler", "Stream", "Submitted", "Text", "Tokenizer", "Tokens", "UnknownNameError", "WeightsError", "compile", "load"]
