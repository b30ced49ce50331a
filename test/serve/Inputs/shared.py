# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many users whose requests share steps: each asks for a number of its own, which a grammar makes the answer; some go away in the middle.

usage: shared.py FOLDER STORY REQUESTS [PROGRAM], which is made where it is not given, as `shared.py FOLDER STORY` makes its spec"""
import concurrent.futures
import json
import random
import socket
import subprocess
import sys
import urllib.request

from server import Server

folder, story = sys.argv[1:3]
spec = open(f"{story}/story.attn").read().replace("entry tell", "entry serve = forward by B last T\n  entry tell")
with open(f"{folder}/shared.attn", "w") as file:
    file.write(spec)
if len(sys.argv) == 3:
    sys.exit()
requests, command = int(sys.argv[3]), [*sys.argv[4:], "--weights", story]
if len(sys.argv) == 4:
    command = [f"{folder}/shared"]
    subprocess.run(["attn", "compile", "-O0", f"{folder}/shared.attn", "--weights", story, "--embed-weights", "--with-server", "-o", command[0]], check=True,
                   capture_output=True)
server = Server(command)
wrong, gone, texts = [], [], {}


def ask(body):
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/completions", json.dumps(body).encode())
    return json.load(urllib.request.urlopen(request, timeout=60))["choices"][0]


def use(user):
    rng = random.Random(user)
    for i in range(requests):
        body = {"prompt": "In the beginning " * rng.randrange(1, 8), "max_tokens": rng.randrange(8, 60), "temperature": 0.8, "seed": i}
        kind = rng.random()
        if kind < 0.5:
            number = str(rng.randrange(100000))
            choice = ask({**body, "grammar": f'root ::= "{number}"'})
            if choice["text"] != number or choice["finish_reason"] != "stop":
                wrong.append((number, choice))
        elif kind < 0.8:
            texts[json.dumps(body)] = ask(body)["text"]
        else:
            data = json.dumps({**body, "stream": True, "max_tokens": 200}).encode()
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
                gone.append(connection.recv(100))


with concurrent.futures.ThreadPoolExecutor(12) as users:
    list(users.map(use, range(12)))  # raises what a user has met
assert not wrong and all(part.startswith(b"HTTP/1.1 200") for part in gone), (wrong, gone)
# The same texts as one by one.
for body, text in texts.items():
    assert ask(json.loads(body))["text"] == text, body
# More than have rows do not keep others from being answered.
with concurrent.futures.ThreadPoolExecutor(64) as users:
    long = [users.submit(ask, {"prompt": "In the beginning", "max_tokens": 256, "temperature": 0.8, "seed": i}) for i in range(64)]
    answered = 0
    while not any(one.done() for one in long):
        assert server.ask("POST", "/tokenize", json.dumps({"content": "Hi"}))[0] == 200
        answered += not any(one.done() for one in long)
    assert answered
code, lines = server.end()
print(f"{len(gone)} have gone, {len(texts)} texts as alone, no number mixed up, exit code {code}")
