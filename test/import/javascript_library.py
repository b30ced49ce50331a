# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hugging Face's library for JavaScript as a process beside this one, and folders that both it and Attn read.

The library opens graphs of ONNX, `onnx/model.onnx` and others. Here such a file names a function of this process instead, which computes the
model in NumPy with double precision (text_models.py, picture_models.py): what is held against Attn is all that the library does by itself
around a model. Models are held against the published modelling code by oracle.py."""
import base64
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "text"))
from driver import Driver
from program import call
from vit_twin import write_safetensors

TYPES = {"float32": np.float32, "int64": np.int64}


def packed(value):
    value = np.asarray(value)
    kind = "int64" if value.dtype.kind in "iub" else "float32"
    return dict(dims=list(value.shape), type=kind, data=base64.b64encode(np.ascontiguousarray(value, TYPES[kind])).decode())


def unpacked(value):
    """Arrays in place of what stands for them, anywhere in an answer."""
    if isinstance(value, list):
        return [unpacked(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"dims", "type", "data"}:
        return np.frombuffer(base64.b64decode(value["data"]), TYPES[value["type"]]).reshape(value["dims"])
    return {name: unpacked(one) for name, one in value.items()}


class Refused(Exception):
    """What the library says against a job."""


class Library:
    """The process. Graphs are functions of arrays by their names, which give arrays by theirs."""

    def __init__(self, modules, driver):
        self.graphs, self.driver = {}, driver
        self.process = subprocess.Popen(["node", os.path.join(HERE, "javascript.mjs"), modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, how, folder, **job):
        """The answer of one of the jobs of javascript.mjs."""
        self.tell(dict(how=how, folder=os.path.abspath(folder), **job))
        while line := self.process.stdout.readline():
            said = json.loads(line)
            if "run" in said:
                feeds = {name: unpacked(value) for name, value in said["feeds"].items()}
                self.tell({name: packed(value) for name, value in self.graphs[said["run"]](feeds).items()})
            elif "error" in said:
                raise Refused(said["error"])
            else:
                return unpacked(said["answer"])
        raise AssertionError(f"node ended with {self.process.wait()}")

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def write_json(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(content, file)


class Folder:
    """A folder of both, whose graphs are computed here."""

    def __init__(self, library, path, config, weights):
        self.library, self.path, self.config = library, path, config
        os.makedirs(f"{path}/onnx", exist_ok=True)
        self.w = {name: value.astype(np.float64) for name, value in weights.items()}

    @staticmethod
    def written(library, path, config, weights, files):
        """One with these files beside config.json."""
        for name, content in {"config.json": config, **files}.items():
            write_json(f"{path}/{name}", content)
        write_safetensors(f"{path}/model.safetensors", weights)
        return Folder(library, path, config, weights)

    def graph(self, stem, inputs, compute, cache=None):
        """Declares a graph; `cache` is the name of its past, [B, 1, T, 1], which holds the tokens themselves."""
        path = f"{os.path.abspath(self.path)}/onnx/{stem}.onnx"
        inputs = [dict(name=name, type="int64", shape=["batch_size", "length"]) for name in inputs]
        if cache:
            inputs.append(dict(name="past_key_values." + cache, type="float32", shape=["batch_size", 1, "past_sequence_length", 1]))
        write_json(path, dict(graph=path, inputs=inputs, outputs=[]))

        def computed(feeds):
            if not cache:
                return compute(**feeds)
            ids = np.concatenate([feeds.pop("past_key_values." + cache)[:, 0, :, 0].astype(np.int64), feeds.pop("input_ids")], 1)
            return {**compute(input_ids=ids, **feeds), "present." + cache: ids[:, None, :, None].astype(np.float32)}

        self.library.graphs[path] = computed

    def compile(self):
        """The program of the imported model, with weights and tokenizer; what `attn import` notes."""
        spec, self.program = f"{self.path}/spec.attn", f"{self.path}/program"
        said = subprocess.run(["attn", "import", self.path, "-o", spec], capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        call(["attn", "compile", spec, "--embed-weights", "-O0", "-o", self.program])
        return said.stderr

    def said(self, *options, code=0, text=None):
        """What the program prints."""
        done = subprocess.run([self.program, *options], capture_output=True, input=text and text.encode())
        assert done.returncode == code, f"{self.path}: {options}: exit {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode("utf-8") if code == 0 else done.stderr.decode()

    def run(self, inputs, results, entry=None):
        """Arrays of its results by their names, and what it prints without them."""
        given = ["--entry", entry] if entry else []
        for name, value in inputs.items():
            if isinstance(value, list):  # files
                given += [option for file in value for option in ("--input", f"{name}={file}")]
                continue
            np.save(f"{self.path}/{name}.npy", value)
            given += ["--input", f"{name}={self.path}/{name}.npy"]
        self.said(*given, *(option for name in results for option in ("--output", f"{name}={self.path}/{name}.npy")))
        return [np.load(f"{self.path}/{name}.npy") for name in results], given

    def ids(self, texts):
        """What the folder's tokenizer makes of texts."""
        return Driver(self.library.driver, self.path, 1).ids(texts)
