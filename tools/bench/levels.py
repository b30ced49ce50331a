# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU levels that the programs of a run can be held to, so that a level is measured on machines that have more, too."""
from dataclasses import dataclass


@dataclass
class Level:
    """What holds peers to the instructions of a level."""

    environment: dict  # of oneDNN, OpenBLAS and PyTorch; ONNX Runtime cannot be held
    llama: str         # the build of llama.cpp's CPU library


LEVELS = {
    "x86-64-v3": Level({"ONEDNN_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2",
                        "RUN_PEAK_BITS": "256"}, "haswell"),
    "avxvnni": Level({"ONEDNN_MAX_CPU_ISA": "AVX2_VNNI", "OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2",
                      "RUN_PEAK_BITS": "256"}, "alderlake"),
}
_held = None  # the name of a level, for all of this process


def add_option(parser):
    parser.add_argument("--level", choices=LEVELS, metavar="NAME",
                        help=f"hold attn and its peers to a CPU level: {' or '.join(LEVELS)}; default: what this machine has")


def hold(name):
    """Holds what is compiled and started from now on to a level, or to nothing for None."""
    global _held
    _held = name


def held():
    """The name of the level, or None."""
    return _held


def target_words():
    """For `attn compile`."""
    return [f"--target={_held}"] if _held else []


def environment():
    """For programs that are timed, attn's among them."""
    return {**LEVELS[_held].environment, "ATTN_FLAGS": f"level={_held}"} if _held else {}


def llama_build():
    """The name of llama.cpp's build for the level, or None for the best one."""
    return LEVELS[_held].llama if _held else None
