# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each proxy of examples/serve before two servers: answers through TLS have the same bits, what is too large is refused, and no request is lost when a server gets SIGTERM and starts again, or when the proxy is reloaded, under load.

usage: proxies.py EXAMPLES FOLDER   # FOLDER has vit.so, a library that answers
"""
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import numpy as np
from server import Server

CLIENTS = 6
INFER = "/v2/models/FashionViT/infer"


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def changed(path, changes):
    """The text of a configuration, in which each key stands once."""
    text = open(path).read()
    for old, new in changes.items():
        assert text.count(old) == 1, f"{path}: {text.count(old)} of `{old}`"
        text = text.replace(old, new)
    return text


def until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Proxy:
    """A proxy that runs, with its configuration in `folder`."""

    def __init__(self, name, examples, folder, ports):
        self.name, self.folder = name, folder
        self.port, one, two = ports
        servers = {"127.0.0.1:8001": f"127.0.0.1:{one}", "127.0.0.1:8002": f"127.0.0.1:{two}"}
        if name == "haproxy":
            text = changed(f"{examples}/haproxy.cfg", {**servers, ":443 ": f"127.0.0.1:{self.port} ", "/etc/haproxy/attn.pem": f"{folder}/both.pem"})
            self.command = ["haproxy", "-W", "-f", f"{folder}/haproxy.conf"]
            self.check = ["haproxy", "-c", "-f", f"{folder}/haproxy.conf"]
        else:
            text = changed(f"{examples}/nginx.conf", {**servers, "listen 443 ": f"listen 127.0.0.1:{self.port} ", "/etc/nginx/attn.pem": f"{folder}/attn.pem",
                                                      "/etc/nginx/attn.key": f"{folder}/attn.key"})
            paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            text = f"pid {folder}/nginx.pid; daemon off; error_log {folder}/nginx.log;\nevents {{ }}\nhttp {{\n{paths} access_log {folder}/nginx.access;\n{text}}}\n"
            self.command = ["nginx", "-e", f"{folder}/nginx.log", "-c", f"{folder}/nginx.conf"]
            self.check = [*self.command, "-t"]
        with open(f"{folder}/{name}.conf", "w") as file:
            file.write(text)
        said = subprocess.run(self.check, capture_output=True, text=True)
        assert said.returncode == 0 and "warn" not in said.stderr.lower(), said.stderr
        self.context = ssl.create_default_context(cafile=f"{folder}/attn.pem")
        self.process = subprocess.Popen(self.command, stdout=open(f"{folder}/{name}.out", "w"), stderr=subprocess.STDOUT)

    def connect(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=60, context=self.context)

    def ask(self, method, path, body=None, headers={}):
        connection = self.connect()
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        status, data = answer.status, answer.read()
        connection.close()
        return status, data

    def is_ready(self):
        try:
            return self.ask("GET", "/v2/health/ready")[0] == 200
        except OSError:
            return False

    def reload(self):
        self.process.send_signal(signal.SIGUSR2 if self.name == "haproxy" else signal.SIGHUP)

    def end(self):
        self.process.terminate()
        self.process.wait(30)


class Load:
    """Clients that send one request after the other until they are told to end; each keeps its connection for as long as the proxy does."""

    def __init__(self, proxy, body, expected, keeps=True):
        self.proxy, self.body, self.expected, self.keeps = proxy, body, expected, keeps
        self.sent, self.lost, self.over = [0] * CLIENTS, [], threading.Event()
        self.threads = [threading.Thread(target=self.run, args=[number]) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        connection = self.proxy.connect()
        while not self.over.is_set():
            self.sent[number] += 1
            try:
                connection.request("POST", INFER, body=self.body)
                answer = connection.getresponse()
                data = answer.read()
                if answer.status != 200 or json.loads(data)["outputs"] != self.expected:
                    self.lost.append((answer.status, data[:200]))
            except (http.client.HTTPException, OSError) as error:
                self.lost.append(repr(error))
                connection.close()
            if not self.keeps:
                connection.close()
        connection.close()

    def end(self, what):
        self.over.set()
        for thread in self.threads:
            thread.join()
        print(f"{self.proxy.name}: {what}: {len(self.lost)} of {sum(self.sent)} requests lost")
        if self.lost:
            sys.exit(str(self.lost[:3]))


def serve(folder, port):
    return Server(["attn", "serve", f"{folder}/vit.so"], listen="--listen", address=f"127.0.0.1:{port}")


def count(log):
    return sum(line["path"] == INFER for line in log)


def check(name, examples, folder):
    ports = free_ports(3)
    one, two = serve(folder, ports[1]), serve(folder, ports[2])
    image = np.random.default_rng(3).standard_normal((1, 1, 28, 28)).astype("<f4")
    body = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": list(image.shape), "data": image.ravel().tolist()}]})
    expected = json.loads(one.ask("POST", INFER, body)[2])["outputs"]
    proxy = Proxy(name, examples, folder, ports)
    try:
        until(proxy.is_ready)
        status, data = proxy.ask("POST", INFER, body)
        assert status == 200 and json.loads(data)["outputs"] == expected, data
        head = {"Inference-Header-Content-Length": "0", "Content-Length": str((64 << 20) + 1)}
        assert proxy.ask("POST", INFER, headers=head)[0] == 413
        # A body near the limit goes through to the server, which says what is wrong with it.
        status, data = proxy.ask("POST", INFER, b" " * (60 << 20))
        assert status == 400 and b"no JSON" in data, (status, data[:200])
        assert proxy.ask("GET", "/metrics")[0] == 404
        print(f"{name}: the same bits, 413, no metrics")

        load = Load(proxy, body, expected)
        time.sleep(1)
        code, log = one.end()
        assert code == 0 and count(log) > 10, (code, count(log))
        time.sleep(1)
        one = serve(folder, ports[1])
        time.sleep(4)
        load.end("a server ends and comes back")

        load = Load(proxy, body, expected, keeps=False)
        time.sleep(0.5)
        proxy.reload()
        time.sleep(1.5)
        load.end("a reload")
        log = one.end()[1]
        assert count(log) > 10, count(log)
        two.end()
        # Those that an ended server refuses are no answers of anything else.
        until(lambda: proxy.ask("POST", INFER, body)[0] in (502, 503))
        print(f"{name}: without servers: {proxy.ask('POST', INFER, body)[0]}")
    finally:
        proxy.end()


def main():
    examples, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-keyout", f"{folder}/attn.key", "-out", f"{folder}/attn.pem"], check=True, capture_output=True)
    with open(f"{folder}/both.pem", "w") as file:
        file.write(open(f"{folder}/attn.pem").read() + open(f"{folder}/attn.key").read())
    for name in ("haproxy", "nginx"):
        check(name, examples, folder)


main()
