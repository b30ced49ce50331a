# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests that wait together are rows of one run: each gets the bits that it gets alone, and one that is wrong spoils no other.

usage: batch.py PROGRAM
"""
import json
import re
import socket
import sys
import threading

import numpy as np
from server import Server

program = sys.argv[1]
generator = np.random.default_rng(5)


def sample(name):
    rows, length = int(generator.integers(1, 4)), int(generator.choice([3, 17, 40]))
    if name == "encode":
        return {"ids": generator.integers(0, 1000, (rows, length), np.int32), "lengths": generator.integers(1, length + 1, rows, np.int32)}
    if name == "turned":
        return {"x": generator.standard_normal((length, rows, 48), np.float32), "scale": generator.standard_normal(rows, np.float32)}
    return {"x": generator.standard_normal((rows, 48), np.float32)}


names = ["encode", "turned", "mixed"]
requests = [(name, sample(name)) for name in names for _ in range(40)]
alone = Server([program, "--weights", "random"], "--batch", "1", "--workers", "1")
expected = [alone.infer(f"Encoder.{name}", inputs, binary=True) for name, inputs in requests]
together = Server([program, "--weights", "random"], "--batch-wait", "300", "--workers", "1")
wrong = []


def counters(server):
    text = server.ask("GET", "/metrics")[2].decode()
    return [int(re.search(rf"^attn_{name}_total (\d+)", text, re.M)[1]) for name in ("inferences", "runs")]


def ask(number):
    name, inputs = requests[number]
    outputs = together.infer(f"Encoder.{name}", inputs, binary=number % 2 == 0)
    if any(outputs[key].tobytes() != expected[number][key].tobytes() for key in outputs):
        wrong.append((number, name))


def ask_wrong():
    """An id that the table has not, among requests of the same length."""
    status, _, body = together.ask("POST", "/v2/models/Encoder.encode/infer",
                                   '{"inputs": [{"name": "ids", "datatype": "INT32", "shape": [1, 3], "data": [1, 1000, 2]}, '
                                   '{"name": "lengths", "datatype": "INT32", "shape": [1], "data": [3]}]}')
    if status != 400 or b"1000" not in body:
        wrong.append((status, body))


def run(numbers):
    threads = [threading.Thread(target=ask, args=[number]) for number in numbers]
    before = counters(together)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [after - b for after, b in zip(counters(together), before)]


for name in names:
    computed, runs = run([number for number, request in enumerate(requests) if request[0] == name])
    print(f"{name}: several in a run: {computed > 1.5 * runs}")
threads = [threading.Thread(target=ask, args=[number]) for number in range(40)] + [threading.Thread(target=ask_wrong) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


# Inputs that do not agree in their rows, where those of two such requests add up to sums that do, among good ones.
busy = Server([program, "--weights", "random"], "--workers", "1")
good = [number for number, (name, inputs) in enumerate(requests) if name == "turned" and len(inputs["x"]) == 3]


def body_of(inputs):
    return json.dumps({"inputs": [{"name": name, "datatype": "FP32", "shape": list(array.shape), "data": array.ravel().tolist()} for name, array in inputs.items()]})


def send_together(*bodies):
    """Answers of requests that wait at the same time: the only worker reads a long one when they come."""
    connections = [busy.connect() for _ in range(1 + len(bodies))]
    for connection in connections:
        connection.connect()
    for connection, body in zip(connections, (long, *bodies)):
        connection.request("POST", "/v2/models/Encoder.turned/infer", body)
    answers = [connection.getresponse() for connection in connections]
    return [(answer.status, answer.read()) for answer in answers][1:]


long = body_of({"x": np.ones((64, 32, 48)), "scale": np.ones(32)})
for number in good[:10]:
    first, *uneven = send_together(body_of(requests[number][1]), *(body_of({"x": np.ones((3, rows, 48)), "scale": np.ones(5 - rows)}) for rows in (2, 3)))
    values = [np.array(tensor["data"], "f4") for tensor in json.loads(first[1])["outputs"]] if first[0] == 200 else []
    if [value.tobytes() for value in values] != [value.tobytes() for value in expected[number].values()]:
        wrong.append((number, first[0]))
    wrong += [(status, text[:100]) for status, text in uneven if status != 400]
computed, runs = counters(alone)
print(f"alone: one in a run: {computed == runs}, wrong: {wrong}")

# Limits: a body of a megabyte at most, and one request that waits while another is computed.
small = Server([program, "--weights", "random"], "--max-body", "1", "--max-queue", "1", "--workers", "1", "--drain", "2")
with socket.create_connection(("127.0.0.1", small.port)) as raw:
    raw.sendall(b"POST /v2/models/Encoder.turned/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n")
    status = raw.recv(12).decode()
codes = []


def press():
    codes.append(small.ask("POST", "/v2/models/Encoder.turned/infer", '{"inputs": [{"name": "x", "datatype": "FP32", "shape": [16, 32, 48], "data": ['
                           + ",".join(["0"] * (16 * 32 * 48)) + ']}, {"name": "scale", "datatype": "FP32", "shape": [32], "data": [' + ",".join(["1"] * 32) + "]}]}")[0])


threads = [threading.Thread(target=press) for _ in range(24)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"limits: {status}, {sorted(set(codes))}")
