# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runners of PyTorch have in common. To be imported before torch is."""
import os
import sys
import time


def prepare(threads):
    """torch, on so many threads and without gradients."""
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)  # read when it is loaded; torch.set_num_threads does not reach it
    import torch

    torch.set_num_threads(int(threads))
    torch.set_grad_enabled(False)
    return torch


def serve(run):
    """Answers the commands of protocol.h; `run` gives a tensor."""
    import torch

    result = None
    print(f"ready version={torch.__version__}", flush=True)
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "run":
            times = []
            for _ in range(int(rest[0]) + int(rest[1])):
                begin = time.perf_counter()
                result = run()
                times.append(1e3 * (time.perf_counter() - begin))
            print("ms", *(f"{t:.6f}" for t in times[int(rest[0]):]), flush=True)
        elif command == "output":
            result.float().contiguous().numpy().tofile(rest[0])
            print("ok", flush=True)
        else:
            break
