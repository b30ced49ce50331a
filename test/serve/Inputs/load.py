# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many connections at once, good requests of all sizes among bad ones and slow clients: each good one is answered, to the bit; memory and
descriptors come back. Then SIGTERM while requests are under way: readiness turns first, and none that was sent is lost.

usage: load.py PROGRAM CONNECTIONS REQUESTS
"""
import http.client
import json
import os
import socket
import sys
import threading
import time

import numpy as np
from server import Server

program, connections, requests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
server = Server([program, "--weights", "random"])
generator = np.random.default_rng(2)
images = [generator.standard_normal((size, 1, 28, 28)).astype("<f4") for size in range(1, 9)]
expected = [server.infer("FashionViT", {"image": image}, binary=True)["classify"] for image in images]
texts = [json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": list(image.shape), "data": image.ravel().tolist()}]}) for image in images]


def of_process(name):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def descriptors():
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


before, counts, lock, problems = descriptors(), {"good": 0, "bad": 0, "busy": 0}, threading.Lock(), []


def client(number):
    connection = server.connect()
    own = np.random.default_rng(number)
    for i in range(requests // connections):
        kind = "good"
        which = int(own.integers(len(images)))
        body = texts[which]
        if own.integers(20) == 0:
            kind, body = "bad", body[: int(own.integers(len(body)))]
        status, _, answer = server.ask("POST", "/v2/models/FashionViT/infer", body, connection=connection)
        while status == 429:
            with lock:
                counts["busy"] += 1
            time.sleep(0.05)
            status, _, answer = server.ask("POST", "/v2/models/FashionViT/infer", body, connection=connection)
        if kind == "good":
            values = np.array(json.loads(answer)["outputs"][0]["data"], "f8").astype("<f4") if status == 200 else None
            if status != 200 or values.tobytes() != expected[which].tobytes():
                problems.append((status, answer[:200]))
        elif status != 400 or "error" not in json.loads(answer):
            problems.append((status, answer[:200]))
        with lock:
            counts[kind] += 1
    connection.close()


def slow():
    """Sends a request byte by byte for a while, and goes away."""
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        for byte in b"POST /v2/models/FashionViT/infer HTTP/1.1\r\nHost: a\r\n":
            raw.sendall(bytes([byte]))
            time.sleep(0.01)


threads = [threading.Thread(target=client, args=[number]) for number in range(connections)]
threads += [threading.Thread(target=slow) for _ in range(5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if problems:
    sys.exit(f"{len(problems)} wrong answers: {problems[:3]}")
print(f"{counts['good']} good answers, {counts['bad']} bad requests refused")
time.sleep(1)
left = descriptors() - before
print(f"{left} descriptors left")
peak = of_process("VmHWM:") // 1024
print(f"peak of memory below 500 MB: {peak < 500}")

# 8 clients send until a connection is refused; each request that was sent gets its answer.
sent, got, ends = [0] * 8, [0] * 8, threading.Event()


def steady(number):
    while True:
        connection = server.connect()
        try:
            connection.connect()
        except ConnectionRefusedError:
            return
        try:
            while True:
                sent[number] += 1
                status, headers, answer = server.ask("POST", "/v2/models/FashionViT/infer", texts[number], connection=connection)
                while status == 429:
                    status, headers, answer = server.ask("POST", "/v2/models/FashionViT/infer", texts[number], connection=connection)
                values = np.array(json.loads(answer)["outputs"][0]["data"], "f8").astype("<f4")
                assert status == 200 and values.tobytes() == expected[number].tobytes()
                got[number] += 1
                if headers["Connection"] == "close":
                    break
        except (http.client.HTTPException, OSError) as error:
            problems.append(error)
            return
        finally:
            connection.close()


threads = [threading.Thread(target=steady, args=[number]) for number in range(8)]
for thread in threads:
    thread.start()
time.sleep(0.5)
server.process.terminate()
time.sleep(0.2)
ready = server.ask("GET", "/v2/health/ready")[0]
for thread in threads:
    thread.join()
code, log = server.end()
print(f"ready {ready} after SIGTERM, {sum(sent) - sum(got)} of the requests lost, exit code {code}, problems {problems}")
assert sum(sent) > 8 and max(line["queued_ms"] for line in log) > 0
