# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attn serve` of several models answers for each what `attn run` writes, to the bit. usage: several.py FOLDER FILE=MODEL..."""
import json
import pathlib
import subprocess
import sys

import numpy as np
from server import DATATYPES, Server

folder, pairs = pathlib.Path(sys.argv[1]), [pair.split("=") for pair in sys.argv[2:]]
server = Server(["attn", "serve", *(file for file, _ in pairs)], "--workers", "1", "--threads", "2", listen="--listen")
names = [model["id"] for model in json.loads(server.ask("GET", "/v1/models")[2])["data"]]
print("models:", *names)
generator = np.random.default_rng(3)
for file, model in pairs:
    described = json.loads(server.ask("GET", f"/v2/models/{model}")[2])
    inputs, options = {}, []
    for tensor in described["inputs"]:
        shape, dtype = [2 if size == -1 else size for size in tensor["shape"]], DATATYPES[tensor["datatype"]]
        inputs[tensor["name"]] = (generator.integers(1, 4, shape) if "i" in dtype else generator.standard_normal(shape)).astype(dtype)
        np.save(folder / f"{tensor['name']}.npy", inputs[tensor["name"]])
        options += ["--input", f"{tensor['name']}={folder}/{tensor['name']}.npy"]
    output = described["outputs"][0]["name"]
    entry = ["--entry", model.partition(".")[2]] if "." in model else []
    subprocess.run(["attn", "run", file, *entry, *options, "--output", f"{output}={folder}/out.npy"], check=True, stderr=subprocess.DEVNULL)
    for binary in (False, True):
        assert server.infer(model, inputs, binary)[output].tobytes() == np.load(folder / "out.npy").tobytes(), model
    print(f"{model}: equal")
print(f"exit code {server.end()[0]}")
