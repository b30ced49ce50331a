# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled model in this process: the shared library that `attn compile --emit=shared` writes, by its C API."""
import ctypes

import numpy as np

DTYPES = {np.dtype("f4"): 0, np.dtype("f2"): 1, np.dtype("i4"): 3, np.dtype("i8"): 4, np.dtype("?"): 6}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_void_p), ("deviceKind", ctypes.c_int32), ("deviceIndex", ctypes.c_int32)]


class Sampling(ctypes.Structure):
    _fields_ = [("temperature", ctypes.c_float), ("topP", ctypes.c_float), ("minP", ctypes.c_float), ("repetition", ctypes.c_float),
                ("topK", ctypes.c_int32), ("seed", ctypes.c_uint64), ("typicalP", ctypes.c_float), ("epsilon", ctypes.c_float),
                ("eta", ctypes.c_float), ("topH", ctypes.c_float)]


class Generation(ctypes.Structure):
    _fields_ = [("sampling", Sampling), ("limit", ctypes.c_int64), ("stopCount", ctypes.c_int32), ("stops", ctypes.POINTER(ctypes.c_int64)),
                ("onTokens", ctypes.c_void_p), ("user", ctypes.c_void_p), ("beams", ctypes.c_int32), ("lengthPenalty", ctypes.c_float),
                ("suppressCount", ctypes.c_int32), ("forceCount", ctypes.c_int32), ("suppressed", ctypes.POINTER(ctypes.c_int64)),
                ("forced", ctypes.POINTER(ctypes.c_int64)), ("continues", ctypes.c_int32),
                ("suppressFirstCount", ctypes.c_int32), ("suppressedFirst", ctypes.POINTER(ctypes.c_int64)), ("onScores", ctypes.c_void_p),
                ("sourceRepetition", ctypes.c_float), ("noRepeat", ctypes.c_int32), ("sourceNoRepeat", ctypes.c_int32),
                ("minTokens", ctypes.c_int32), ("minLength", ctypes.c_int32), ("maxLength", ctypes.c_int32), ("decayFrom", ctypes.c_int32),
                ("decay", ctypes.c_float), ("renormalizes", ctypes.c_int32), ("earlyStopping", ctypes.c_int32),
                ("forceLastCount", ctypes.c_int32), ("badWordsCount", ctypes.c_int32), ("forcedLast", ctypes.POINTER(ctypes.c_int64)),
                ("badWords", ctypes.POINTER(ctypes.c_int64)), ("heldCount", ctypes.c_int64), ("held", ctypes.POINTER(ctypes.c_int32))]


# The lists of a generation, with the names of their sizes.
LISTS = dict(stops="stopCount", suppressed="suppressCount", forced="forceCount", suppressedFirst="suppressFirstCount",
             forcedLast="forceLastCount", badWords="badWordsCount")


class ModelError(Exception):
    pass


class Model:
    """One model with one context, and the caches of that. Weights are a file's, or "random:SEED"."""

    def __init__(self, library, symbol, weights, threads=0, gpu=None):
        self.api = ctypes.CDLL(library)
        self.api.attn_model_entry_name.restype = ctypes.c_char_p
        self.api.attn_cache_length.restype = ctypes.c_int64
        self.model, self.context = ctypes.c_void_p(), ctypes.c_void_p()
        tables = ctypes.addressof(ctypes.c_char.in_dll(self.api, symbol))
        self.call("attn_model_create", ctypes.c_void_p(tables), None, ctypes.byref(self.model))
        kind, _, seed = str(weights).partition(":")
        if kind == "random":
            self.call("attn_model_bind_random", self.model, ctypes.c_uint64(int(seed)))
        else:
            self.call("attn_model_bind_file", self.model, str(weights).encode())
        self.call("attn_context_create", self.model, threads, ctypes.byref(self.context))
        if gpu is not None:
            self.move(gpu)

    def call(self, name, *arguments):
        message = ctypes.c_char_p()
        if getattr(self.api, name)(*arguments, ctypes.byref(message)):
            raise ModelError(message.value.decode())

    def run(self, entry, inputs, shapes=None, fill=0.0, generation=None):
        """The outputs of an entry, of the shapes that the model infers or of these; `fill` is what stands in them before.
        None among the inputs is a state that is left out."""
        number = self.api.attn_model_find_entry(self.model, entry.encode())
        given = (Tensor * max(len(inputs), 1))()
        arrays = [None if array is None else np.ascontiguousarray(array) for array in inputs]
        for tensor, array in zip(given, arrays):
            if array is None:
                continue
            tensor.data, tensor.dtype, tensor.rank = array.ctypes.data, DTYPES[array.dtype], array.ndim
            tensor.shape[:array.ndim] = array.shape
        made = (Tensor * self.api.attn_model_output_count(self.model, number))()
        if shapes is None:
            self.call("attn_infer_shapes", self.context, number, given, made)
            shapes = [tuple(t.shape[:t.rank]) for t in made]
        kinds = {code: dtype for dtype, code in DTYPES.items()}
        self.outputs = [np.full(shape, fill, kinds[tensor.dtype]) for shape, tensor in zip(shapes, made)]
        for tensor, array in zip(made, self.outputs):
            tensor.data, tensor.dtype, tensor.rank = array.ctypes.data, DTYPES[array.dtype], array.ndim
            tensor.shape[:array.ndim] = array.shape
        if generation is None:
            self.call("attn_run", self.context, number, given, made)
        else:
            self.call("attn_generate", self.context, number, ctypes.byref(generation), given, made)
        return self.outputs

    def generation(self, entry, **numbers):
        """What `run` takes for an entry that generates: the spec's numbers, but for these. A list of tokens is one of Python."""
        made = Generation()
        self.call("attn_generation_default", self.model, self.api.attn_model_find_entry(self.model, entry.encode()), ctypes.byref(made))
        for name, value in numbers.items():
            if isinstance(value, list):
                setattr(made, LISTS[name], len(value))
                value = (ctypes.c_int64 * max(len(value), 1))(*value)
            setattr(made if hasattr(made, name) else made.sampling, name, value)
        return made

    def move(self, gpu=None):
        """To a GPU, or to the CPU."""
        self.call("attn_context_set_device", self.context, 1 if gpu is None else 2, gpu or 0)

    def reset(self):
        """Caches are empty, and states zeros."""
        self.call("attn_context_reset", self.context)

    def length(self, cache=0):
        return self.api.attn_cache_length(self.context, cache)

    def truncate(self, length, cache=0):
        self.call("attn_cache_truncate", self.context, cache, ctypes.c_int64(length))
