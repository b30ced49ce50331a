# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A server of the scripted model, and the clients of clients.mjs.

usage: clients.py FOLDER MODULES"""
import os
import subprocess
import sys

import scripted
from server import Server

folder, modules = sys.argv[1:]
server = Server([scripted.make(folder)])
script = os.path.join(os.path.dirname(__file__), "clients.mjs")
done = subprocess.run(["node", script, f"http://127.0.0.1:{server.port}", modules], timeout=120)
code, lines = server.end()
print(f"exit codes {done.returncode} and {code}")
