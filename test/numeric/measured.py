# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors that twins find, kept for tools/systems.py: where ATTN_MEASURED names a folder, a file there for each command."""
import atexit
import hashlib
import json
import os
import sys

_errors = {}


def measured(case, error):
    """Keeps the largest error of a case, against the reference of the script that calls this; 0 where results are equal."""
    _errors[case] = max(float(error), _errors.get(case, 0.0))


@atexit.register
def _keep():
    folder = os.environ.get("ATTN_MEASURED")
    if not folder or not _errors:
        return
    script = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    command = hashlib.sha1(" ".join(sys.argv).encode()).hexdigest()[:12]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{script}-{command}.json"), "w") as file:
        json.dump({f"{script}:{case}": error for case, error in _errors.items()}, file)
