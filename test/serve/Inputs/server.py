# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server under test, and requests to it by Python's own http.client."""
import atexit
import http.client
import json
import re
import signal
import subprocess
import tempfile

import numpy as np

DATATYPES = {"FP32": "<f4", "FP16": "<f2", "FP64": "<f8", "INT32": "<i4", "INT64": "<i8", "UINT8": "u1", "BOOL": "?"}


class Server:
    """Runs `command --serve 127.0.0.1:0`, or with `listen` and `address` in the place of these; its log is at hand when it has ended."""

    def __init__(self, command, *options, listen="--serve", address="127.0.0.1:0"):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*command, listen, address, *options], stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # a test that fails leaves none
        line = self.process.stderr.readline()
        while line.startswith(("warning", "note")):
            line = self.process.stderr.readline()
        found = re.match(r"ready at port (\d+)", line)
        if not found:
            raise SystemExit(line + self.process.stderr.read())
        self.port = int(found[1])
        # Lines of the log would fill a pipe.
        self.copier = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=self.log)

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers={}, connection=None):
        """(status, headers, body) of one request."""
        own = connection or self.connect()
        own.request(method, path, body=body, headers=headers)
        answer = own.getresponse()
        data = answer.read()
        if not connection:
            own.close()
        return answer.status, answer.headers, data

    def infer(self, model, inputs, binary=False, connection=None):
        """Outputs by name, given arrays by name."""
        listed, blob = [], b""
        for name, array in inputs.items():
            datatype = next(key for key, value in DATATYPES.items() if np.dtype(value) == array.dtype)
            tensor = {"name": name, "datatype": datatype, "shape": list(array.shape)}
            if binary:
                tensor["parameters"] = {"binary_data_size": array.nbytes}
                blob += array.tobytes()
            else:
                # Every other request nests its rows.
                tensor["data"] = array.tolist() if len(model) % 2 else array.ravel().tolist()
            listed.append(tensor)
        request = {"id": "7", "inputs": listed}
        if binary:
            request["parameters"] = {"binary_data_output": True}
        text = json.dumps(request).encode()
        headers = {"Inference-Header-Content-Length": str(len(text))} if binary else {}
        status, headers, data = self.ask("POST", f"/v2/models/{model}/infer", text + blob, headers, connection)
        if status != 200:
            raise SystemExit(f"{model}: {status}: {data[:500]}")
        size = int(headers.get("Inference-Header-Content-Length", len(data)))
        answer, rest = json.loads(data[:size]), data[size:]
        assert answer["model_name"] == model and answer["id"] == "7"
        outputs = {}
        for tensor in answer["outputs"]:
            dtype = DATATYPES[tensor["datatype"]]
            if binary:
                count = tensor["parameters"]["binary_data_size"]
                values, rest = np.frombuffer(rest[:count], dtype), rest[count:]
            else:
                values = np.array(tensor["data"], np.float64 if "f" in dtype else dtype).astype(dtype)
            outputs[tensor["name"]] = values.reshape(tensor["shape"])
        assert not rest
        return outputs

    def end(self, how=signal.SIGTERM):
        """Ends it, and returns its exit code and the lines of its log."""
        self.process.send_signal(how)
        code = self.process.wait(60)
        self.copier.wait(60)
        self.log.seek(0)
        return code, [json.loads(line) for line in self.log]
