# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad requests get a status of 400 and more and a message that names the place, and the server goes on.

usage: mistakes.py PROGRAM FOLDER
"""
import json
import pathlib
import socket
import struct
import sys
import time

import numpy as np
from server import Server

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
(folder / "keys").write_text("first key\r\n\nsecond\n")
INFER = "/v2/models/Small.run/infer"


def request(**changes):
    """A good request of the entry `run`, with changes."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 4], "data": [1, 2, 3, 4, 5, 6, 7, 8]}
    tensor.update(changes)
    return json.dumps({"inputs": [{key: value for key, value in tensor.items() if value is not None}]})


def of_take(**changes):
    tensor = {"name": "ids", "datatype": "INT32", "shape": [2], "data": [1, 2]}
    tensor.update(changes)
    return json.dumps({"inputs": [tensor]})


# (path, body, headers, status, what the message says)
MISTAKES = [
    ("/nothing", "", {}, 404, "there is no `/nothing`"),
    ("/v2/models/Smal.run/infer", "{}", {}, 404, "there is no model `Smal.run`"),
    ("/v2/models/Small.run/runs", "{}", {}, 404, "a model has no `/runs`"),
    ("/v2/models/Small.run", "{}", {}, 405, "is read by GET"),
    (INFER, "", {}, 400, "the body is no JSON"),
    (INFER, "[]", {}, 400, "the body is no JSON"),
    (INFER, "{", {}, 400, "the body is no JSON"),
    (INFER, request() + "x", {}, 400, "something follows its end"),
    (INFER, "{}", {}, 400, "`inputs` is missing"),
    (INFER, '{"inputs": 1}', {}, 400, "`inputs` is no list"),
    (INFER, '{"inputs": [1]}', {}, 400, "an element of `inputs` is no object"),
    (INFER, '{"inputs": []}', {}, 400, "input `x` is missing"),
    (INFER, '{"input": []}', {}, 400, "has no field `input`"),
    (INFER, request(nam="x"), {}, 400, "an input has no field `nam`"),
    (INFER, request(name="y"), {}, 400, "has no input `y`"),
    (INFER, request(name=None), {}, 400, "an input has no `name`"),
    (INFER, request(datatype="FP64"), {}, 400, "input `x` has datatype `FP64`, expected FP32"),
    (INFER, request(datatype=None), {}, 400, "expected FP32"),
    (INFER, request(shape=None), {}, 400, "input `x` has 0 axes, expected 2"),
    (INFER, request(shape=[8]), {}, 400, "input `x` has 1 axes, expected 2"),
    (INFER, request(shape=[2, 5]), {}, 400, "axis 1 (D) has 5 elements, expected 4"),
    (INFER, request(shape=[9, 4]), {}, 400, "axis 0 (B) has 9 elements, expected 1 to 8"),
    (INFER, request(shape=[0, 4]), {}, 400, "axis 0 (B) has 0 elements"),
    (INFER, request(shape=[-2, 4]), {}, 400, "something else than sizes"),
    (INFER, request(shape=[2.5, 4]), {}, 400, "something else than sizes"),
    (INFER, request(shape=[2**62, 2**62]), {}, 400, "elements, expected 1 to 8"),
    (INFER, request(data=None), {}, 400, "input `x` has no `data`"),
    (INFER, request(data=3), {}, 400, "`data` is no list"),
    (INFER, request(data=[1, 2]), {}, 400, "`data` holds 2 numbers, expected 8"),
    (INFER, request(data=[1] * 9), {}, 400, "`data` holds more than 8 numbers"),
    (INFER, request(data=[[1, 2, 3, 4], [5, 6, 7]]), {}, 400, "`data` has 3 elements on axis 1, expected 4"),
    (INFER, request(data=[[1, 2, 3, 4], 5]), {}, 400, "nested otherwise than its shape"),
    (INFER, request(data=[[[1]]]), {}, 400, "nested otherwise than its shape"),
    (INFER, request(data=[1, "2", 3, 4, 5, 6, 7, 8]), {}, 400, "something else than a number at place 1"),
    (INFER, request(data=[1, None, 3, 4, 5, 6, 7, 8]), {}, 400, "something else than a number at place 1"),
    (INFER, request().replace("3, 4", "1e99, 4"), {}, 400, "a number at place 2 that is too large for f32"),
    (INFER, request().replace("3, 4", "NaN, 4"), {}, 400, "the body is no JSON"),
    (INFER, request(parameters={"binary_data_size": True}), {}, 400, "parameter `binary_data_size` is no number of bytes"),
    (INFER, request(parameters={"binary_data_size": -1}), {}, 400, "parameter `binary_data_size` is no number of bytes"),
    (INFER, request(parameters={"content_type": "np"}), {}, 400, "no parameter `content_type` here: there is `binary_data_size`"),
    (INFER, request()[:-1] + ', "parameters": {"binary_data_output": 1}}', {}, 400, "`binary_data_output` is neither true nor false"),
    (INFER, request()[:-1] + ', "outputs": [{"name": "y", "parameters": {"binary_data": "true"}}]}', {}, 400, "`binary_data` is neither true nor false"),
    (INFER, request()[:-1] + ', "outputs": [{"name": "y", "datatype": "FP64"}]}', {}, 400, "an output has no field `datatype`"),
    (INFER, request(parameters=[]), {}, 400, "`parameters` is no object"),
    (INFER, request(parameters={"binary_data_size": 32}), {}, 400, "`data` and `binary_data_size`: one of them"),
    (INFER, request(data=None, parameters={"binary_data_size": 31}), {}, 400, "`binary_data_size` of 31, expected 32"),
    (INFER, request(data=None, parameters={"binary_data_size": 32}), {}, 400, "the body ends before the bytes of input `x`"),
    (INFER, request() + "1234", {"Inference-Header-Content-Length": str(len(request()))}, 400, "4 bytes behind the JSON"),
    (INFER, request(), {"Inference-Header-Content-Length": "many"}, 400, "`Inference-Header-Content-Length` is no number"),
    (INFER, request(), {"Inference-Header-Content-Length": "100000"}, 400, "`Inference-Header-Content-Length` is 100000, and the body has"),
    (INFER, request()[:-1] + ', "outputs": [{}]}', {}, 400, "an output has no `name`"),
    (INFER, request()[:-1] + ', "outputs": [{"name": "z"}]}', {}, 400, "has no output `z`"),
    (INFER, json.dumps({"inputs": json.loads(request())["inputs"] * 2}), {}, 400, "input `x` is given twice"),
    (INFER, '{"inputs": ' + "[" * 100 + "]" * 100 + "}", {}, 400, "an element of `inputs` is no object"),
    ("/v2/models/Small.take/infer", of_take(data=[1, 100]), {}, 400, "holds 100 at [1], expected 0 to 9"),
    ("/v2/models/Small.take/infer", of_take(data=[1, 2.5]), {}, 400, "holds 2.5 at place 1, expected a whole number"),
    ("/v2/models/Small.take/infer", of_take(data=[1, 2**31]), {}, 400, "holds 2147483648 at place 1"),
    ("/v2/models/Small.ratio/infer", request(data=[0] * 8), {}, 422, "output `y` holds NaN at place 0, which JSON has no word for"),
]

server = Server([program, "--weights", "random"])
failures = 0
for path, body, headers, status, message in MISTAKES:
    got, _, answer = server.ask("POST", path, body, headers)
    text = json.loads(answer)["error"]
    if got != status or message not in text:
        failures += 1
        print(f"{path} {body[:80]}: {got}: {text}")
print(f"{len(MISTAKES) - failures} of {len(MISTAKES)} mistakes have their message")

# Methods, sizes, lines that are no HTTP, bodies that are cut off: connections end, and nothing else does.
assert server.ask("DELETE", "/v2")[0] == 405
assert server.ask("HEAD", "/v2/health/live")[0] == 200
connection = server.connect()
connection.putrequest("POST", INFER)
connection.putheader("Content-Length", str(1 << 40))
connection.endheaders()
assert connection.getresponse().status == 413
for bytes_ in (b"\0\1\2\3\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST " + INFER.encode() + b" HTTP/1.1\r\nContent-Length: 50\r\n\r\n{", b"GET /" + b"x" * 20000):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(bytes_)
        raw.shutdown(socket.SHUT_WR)
        raw.settimeout(30)
        try:
            while raw.recv(4096):
                pass
        except ConnectionResetError:
            pass
x = np.arange(8, dtype="<f4").reshape(2, 4)
assert (server.infer("Small.run", {"x": x})["y"] == x + 1).all()
# NaN goes as bytes, and so does infinity, which JSON has no words for either.
ratio = server.infer("Small.ratio", {"x": np.zeros((1, 4), "<f4")}, binary=True)["y"]
assert np.isnan(ratio).all()
status, _, metrics = server.ask("GET", "/metrics")
count = [line for line in metrics.decode().splitlines() if line.startswith('attn_requests_total{status="4xx"}')]
print(count[0])
code, log = server.end()
print(f"exit code {code}, {len(log)} lines of log")

# More connections than descriptors: those that are not taken wait until others have ended.
server = Server(["prlimit", "--nofile=24", program, "--weights", "random"])
crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
time.sleep(0.5)
for raw in crowd:
    raw.close()
assert (server.infer("Small.run", {"x": x})["y"] == x + 1).all()
print(f"crowd: exit code {server.end()[0]}")

server = Server([program, "--weights", "random"], "--api-keys", str(folder / "keys"))
assert server.ask("GET", "/health/ready")[0] == 200
for key, status in ((None, 401), ("second", 200), ("first key", 200), ("secon", 401), ("", 401), ("first key\nsecond", None)):
    if status:
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        assert server.ask("GET", "/v1/models", headers=headers)[0] == status, key
print(f"keys: exit code {server.end()[0]}")
