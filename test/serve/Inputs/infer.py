# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries answer over HTTP what the command line writes, to the bit, as JSON and as bytes.

usage: infer.py FOLDER WEIGHTS PROGRAM [ENTRY...]
"""
import json
import pathlib
import subprocess
import sys

import numpy as np
from server import DATATYPES, Server

folder, weights, program, *entries = pathlib.Path(sys.argv[1]), *sys.argv[2:]
server = Server([program, "--weights", weights])
status, _, body = server.ask("GET", "/v1/models")
models = [model["id"] for model in json.loads(body)["data"]]
generator = np.random.default_rng(1)
for model in models:
    entry = model.partition(".")[2]
    if entries and entry not in entries:
        continue
    status, _, body = server.ask("GET", f"/v2/models/{model}")
    described = json.loads(body)
    assert status == 200 and described["name"] == model and described["platform"] == "attn"
    assert server.ask("GET", f"/v2/models/{model}/versions/1/ready")[0] == 200
    inputs, options = {}, []
    for tensor in described["inputs"]:
        shape = [3 if size == -1 else size for size in tensor["shape"]]
        dtype = DATATYPES[tensor["datatype"]]
        array = (generator.integers(1, 4, shape) if "i" in dtype else generator.standard_normal(shape)).astype(dtype)
        inputs[tensor["name"]] = array
        np.save(folder / f"{tensor['name']}.npy", array)
        options += ["--input", f"{tensor['name']}={folder}/{tensor['name']}.npy"]
    for output in described["outputs"]:
        options += ["--output", f"{output['name']}={folder}/{output['name']}.out.npy"]
    choice = ["--entry", entry] if entry else []
    subprocess.run([program, "--weights", weights, *choice, *options], check=True, stderr=subprocess.DEVNULL)
    for binary in (False, True):
        # Twice: what a run leaves in caches and states is not there for the next.
        for _ in range(2):
            outputs = server.infer(model, inputs, binary)
            for output in described["outputs"]:
                expected = np.load(folder / f"{output['name']}.out.npy")
                assert outputs[output["name"]].tobytes() == expected.tobytes(), (model, output["name"], binary)
    print(f"{model}: {len(described['inputs'])} inputs, {len(described['outputs'])} outputs, equal")
code, log = server.end()
assert code == 0 and all(line["status"] == 200 for line in log), log
