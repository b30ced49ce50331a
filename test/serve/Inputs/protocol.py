# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client of the Open Inference Protocol, version 2, over HTTP: from its text (github.com/kserve/open-inference-protocol, inference_rest.md) and
nothing else. It asks a server of each spec in EXAMPLES for all that the protocol has, and holds each answer to the fields that the
protocol names, and outputs to those of the command line.

usage: protocol.py EXAMPLES FOLDER PARAMETERS   # specs with at most so many parameters
"""
import http.client
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
from server import Server

# Tensor data types of the protocol.
DTYPES = {"BOOL": "?", "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8", "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8",
          "FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "BYTES": "O"}


def is_list_of(kind):
    return lambda value: isinstance(value, list) and all(isinstance(one, kind) and not (kind is int and isinstance(one, bool)) for one in value)


def is_text(value):
    return isinstance(value, str)


def is_flag(value):
    return isinstance(value, bool)


def are(objects):
    return lambda value: isinstance(value, list) and all(problem_of(one, objects) is None for one in value)


def is_tensor_data(value):
    return isinstance(value, list) and all(isinstance(one, (int, float, str, bool)) or is_tensor_data(one) for one in value)


# The objects of the protocol: their fields; those with `?` may be left out.
READY_MODEL = {"name": is_text, "ready": is_flag}
SERVER = {"name": is_text, "version": is_text, "extensions": is_list_of(str)}
TENSOR = {"name": is_text, "datatype": lambda value: value in DTYPES, "shape": is_list_of(int)}
MODEL = {"name": is_text, "versions?": is_list_of(str), "platform": is_text, "inputs": are(TENSOR), "outputs": are(TENSOR)}
OUTPUT = {**TENSOR, "parameters?": lambda value: isinstance(value, dict), "data": is_tensor_data}
RESPONSE = {"model_name": is_text, "model_version?": is_text, "id?": is_text, "parameters?": lambda value: isinstance(value, dict), "outputs": are(OUTPUT)}
ERROR = {"error": is_text}


def problem_of(value, fields):
    """What is wrong with an object of the protocol; None where nothing is."""
    if not isinstance(value, dict):
        return f"no object: {value}"
    known = {name.rstrip("?"): check for name, check in fields.items()}
    for name, field in value.items():
        if name not in known or not known[name](field):
            return f"`{name}`: {str(field)[:200]}"
    missing = [name for name in fields if not name.endswith("?") and name not in value]
    return f"without {missing}" if missing else None


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, fields=None, request=None, status=200):
        body = None if request is None else request if isinstance(request, str) else json.dumps(request, separators=(",", ":"))
        self.connection.request(method, path, body=body, headers={"Content-Type": "application/json"} if body else {})
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status == status if isinstance(status, int) else answer.status in status, (path, answer.status, data[:300])
        if fields is None:
            return None
        assert answer.headers.get_content_type() == "application/json", (path, answer.headers)
        value = json.loads(data)
        problem = problem_of(value, fields)
        assert problem is None, f"{path}: {problem}"
        return value


def check_server(client):
    client.ask("GET", "/v2/health/live")
    client.ask("GET", "/v2/health/ready")
    for path in ("/v2", "/v2/"):
        client.ask("GET", path, SERVER)


def check_mistakes(client, model):
    wrong = range(400, 500)
    client.ask("GET", "/v2/models/none", ERROR, status=wrong)
    client.ask("GET", "/v2/models/none/ready", ERROR, status=wrong)
    client.ask("GET", f"/v2/models/{model}/versions/none", ERROR, status=wrong)
    client.ask("POST", "/v2/models/none/infer", ERROR, {"inputs": []}, wrong)
    client.ask("POST", f"/v2/models/{model}/infer", ERROR, "{", wrong)
    # The request of the protocol's example, whose BOOL has fewer data than its shape says.
    client.ask("POST", f"/v2/models/{model}/infer", ERROR,
               {"id": "42", "inputs": [{"name": "input0", "shape": [2, 2], "datatype": "UINT32", "data": [1, 2, 3, 4]},
                                       {"name": "input1", "shape": [3], "datatype": "BOOL", "data": [True]}], "outputs": [{"name": "output0"}]}, wrong)


def values_of(output):
    dtype = np.dtype(DTYPES[output["datatype"]])
    return np.array(output["data"], np.float64 if dtype.kind == "f" else dtype).astype(dtype).reshape(output["shape"])


def check_model(client, library, folder, model, generator):
    """Metadata and inference of a model; whether it could be run."""
    described = client.ask("GET", f"/v2/models/{model}", MODEL)
    assert described["name"] == model
    ready = client.ask("GET", f"/v2/models/{model}/ready", READY_MODEL)
    assert ready == {"name": model, "ready": True}
    paths = [f"/v2/models/{model}/infer"]
    for version in described.get("versions", []):
        assert client.ask("GET", f"/v2/models/{model}/versions/{version}", MODEL) == described
        assert client.ask("GET", f"/v2/models/{model}/versions/{version}/ready", READY_MODEL) == ready
        paths.append(f"/v2/models/{model}/versions/{version}/infer")
    check_mistakes(client, model)

    inputs, options = [], []
    for tensor in described["inputs"]:
        dtype = np.dtype(DTYPES[tensor["datatype"]])
        # Of few digits, so that pictures are less than the 64 MB of a request.
        shape = [2 if size == -1 else size for size in tensor["shape"]]
        array = (generator.integers(-16, 17, shape) / 8 if dtype.kind == "f" else generator.integers(0, 2, shape) if len(shape) > 1 else np.ones(shape)).astype(dtype)
        np.save(folder / f"{tensor['name']}.npy", array)
        options += ["--input", f"{tensor['name']}={folder}/{tensor['name']}.npy"]
        inputs.append({"name": tensor["name"], "shape": shape, "datatype": tensor["datatype"], "data": array.tolist()})
    for tensor in described["outputs"]:
        options += ["--output", f"{tensor['name']}={folder}/{tensor['name']}.out.npy"]
    entry = ["--entry", model.partition(".")[2]] if "." in model else []
    client.connection.close()  # the server would end one that is silent for 30 s
    done = subprocess.run(["attn", "run", library, "--weights", "random:1", *entry, *options], capture_output=True, text=True)
    if done.returncode == 1:  # one that needs what another entry has left in a cache
        said = client.ask("POST", paths[0], ERROR, {"inputs": inputs}, range(400, 500))["error"]
        assert said in done.stderr, (said, done.stderr)
        return False
    assert done.returncode == 0, done.stderr
    wanted = {tensor["name"]: np.load(folder / f"{tensor['name']}.out.npy") for tensor in described["outputs"]}
    if not all(np.isfinite(array).all() for array in wanted.values()):  # of random weights; JSON has no word for it
        client.ask("POST", paths[0], ERROR, {"inputs": inputs}, range(400, 500))
        return True
    flat = [{**tensor, "data": np.array(tensor["data"]).ravel().tolist()} for tensor in inputs]
    last = list(wanted)[-1:]
    for path in paths:
        for request, names in (({"inputs": inputs}, list(wanted)), ({"id": "42", "inputs": flat, "parameters": {}}, list(wanted)),
                               ({"inputs": flat, "outputs": [{"name": name} for name in last]}, last)):
            answer = client.ask("POST", path, RESPONSE, request)
            assert answer["model_name"] == model and answer.get("id") == request.get("id"), answer
            assert [output["name"] for output in answer["outputs"]] == names
            for output in answer["outputs"]:
                got, expected = values_of(output), wanted[output["name"]]
                assert got.dtype == expected.dtype and got.shape == expected.shape and got.tobytes() == expected.tobytes(), (model, output["name"])
    return True


def main():
    examples, folder, most = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    generator, count = np.random.default_rng(7), 0
    for spec in sorted(examples.glob("*/*.attn")):
        said = subprocess.run(["attn", "check", spec], capture_output=True, text=True).stdout
        if int(re.search(r"(\d+) parameters", said)[1]) > most:
            continue
        library = folder / "library.so"
        subprocess.run(["attn", "compile", spec, "--emit=shared", "-o", library], check=True, capture_output=True)
        server = Server(["attn", "serve", library, "--weights", "random:1"], "--workers", "1", listen="--listen")
        client = Client(server.port)
        check_server(client)
        models = [model["id"] for model in json.loads(server.ask("GET", "/v1/models")[2])["data"]]
        ran = [model for model in models if check_model(client, library, folder, model, generator)]
        assert ran, models
        print(f"{spec.relative_to(examples)}: {' '.join(ran)}", flush=True)
        count += len(models)
        client.connection.close()
        assert server.end()[0] == 0
    print(f"{count} models answer by the protocol")


main()
