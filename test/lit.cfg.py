# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import shutil

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".attn", ".mlir", ".test"]
config.excludes = ["unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.attn_build, "test")

tools = os.path.join(config.attn_build, "bin")
config.environment["PATH"] = os.pathsep.join([tools, "/usr/lib/llvm-22/bin", config.environment["PATH"]])
for name in ("OPENBLAS_CORETYPE",):
    config.environment.pop(name, None)
for name in ("ATTN_FULL_TESTS", "CCACHE_DIR", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# As many tests run side by side as there are CPUs: threads of NumPy and PyTorch would only wait for each other.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    config.environment[name] = "1"
# Tests compile what they test: tools/attn/cache*.test alone keep code.
config.environment["ATTN_CACHE_SIZE"] = "0"
# Where twins keep the errors that they find (numeric/measured.py, tools/systems.py).
config.environment["ATTN_MEASURED"] = os.path.join(config.attn_build, "test", "measured")
config.substitutions.append(("%examples", os.path.join(config.attn_source, "examples")))
config.substitutions.append(("%source", config.attn_source))
config.substitutions.append(("%exits", "bash " + os.path.join(config.test_source_root, "exits.sh")))
config.substitutions.append(("%build", config.attn_build))
config.substitutions.append(("%replay", os.path.join(config.attn_build, "test", "fuzz", "replay")))
config.substitutions.append(
    ("%fuzz", " ".join(["bash", os.path.join(config.test_source_root, "fuzz", "run.sh"), os.path.join(config.attn_build, "test", "fuzz")]))
)
if config.attn_has_fuzzer:
    config.available_features.add("fuzzer")

# Programs for AArch64, where they could be built and can be run.
if config.attn_tests_aarch64 and shutil.which("qemu-aarch64"):
    config.available_features.add("qemu-aarch64")
    config.substitutions.append(("%qemu", "qemu-aarch64 -L /usr/aarch64-linux-gnu"))
    if os.path.exists(os.path.join(config.attn_build, "lib", "attn", "aarch64-linux-gnu", "libattn_text.a")):
        config.available_features.add("aarch64-text")
for name in ("ctags", "groff"):
    if shutil.which(name):
        config.available_features.add(name)

# Real checkpoints and vocabularies, which lie beside the repository where there are any.
weights = os.path.join(config.attn_source, "..", "shared", "weights")
config.substitutions.append(("%checkpoints", weights))
if os.path.isdir(weights):
    config.available_features.add("weights")

# Hugging Face's tokenizers as an npm package.
modules = os.environ.get("ATTN_NODE_MODULES", "")
config.substitutions.append(("%node_modules", modules))
if os.path.isdir(os.path.join(modules, "@anush008", "tokenizers")) and shutil.which("node"):
    config.available_features.add("huggingface")

# Hugging Face's library for JavaScript, a reader of traces, calls of C libraries, a validator of JSON schemas and clients of servers, which
# tools/setup.sh installs.
for feature, package in (("javascript-library", "@huggingface/transformers"), ("speedscope", "speedscope"), ("koffi", "koffi"), ("ajv", "ajv-formats"),
                         ("openai-clients", "@ai-sdk/openai-compatible")):
    for folder in (modules, os.path.join(config.attn_build, "peers", "node_modules")):
        if os.path.isdir(os.path.join(folder, package)) and shutil.which("node"):
            config.available_features.add(feature)
            config.substitutions.append(("%" + feature.replace("-", "_"), folder))
            break

# Services that tests start themselves (tools/setup.sh): the system's, or those unpacked in the build folder.
services = os.path.join(config.attn_build, "services", "usr")
libraries = os.path.join(services, "lib", "x86_64-linux-gnu")
paths = [config.environment["PATH"], *(os.path.join(folder, name) for folder in (services, "/usr") for name in ("bin", "sbin"))]
config.substitutions.append(("%with_services", f"env PATH={os.pathsep.join(paths)} LD_LIBRARY_PATH={libraries}:{libraries}/slurm-wlm"))
for feature, names in (("proxies", ("haproxy", "nginx", "openssl")), ("slurm", ("slurmctld-wlm", "slurmd-wlm", "sbatch", "munged"))):
    if all(shutil.which(name, path=os.pathsep.join(paths)) for name in names):
        config.available_features.add(feature)

# Roots of Debian, and who may change to them (tools/setup.sh).
if os.geteuid() == 0:
    config.available_features.add("root")
    for feature, release in (("debian-root", "bookworm"), ("debian-root-13", "trixie")):
        if os.path.isdir(os.path.join(config.attn_build, "roots", release)):
            config.available_features.add(feature)

# The page of attn explore, and a browser for it.
packages = os.path.join(config.attn_build, "tools", "explore")
page = os.path.join(config.attn_build, "share", "attn", "explore.html")
chromium = shutil.which("chromium")
if chromium and shutil.which("node") and os.path.exists(page) and os.path.isdir(os.path.join(packages, "node_modules", "playwright-core")):
    config.available_features.add("explore-page")
    config.environment["ATTN_CHROMIUM"] = chromium
    config.environment["ATTN_EXPLORE_MODULES"] = packages

# A Python that has torch and the published library of models, transformers.
oracle = os.environ.get("ATTN_ORACLE_PYTHON", "")
config.substitutions.append(("%oracle_python", oracle))
if oracle:
    config.available_features.add("published-library")

if os.environ.get("ATTN_FULL_TESTS") == "1":
    config.available_features.add("full")
with open("/proc/cpuinfo") as info:
    flags = set(next((line for line in info if line.startswith("flags")), "").split())
if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
    config.available_features.add("x86-64-v4")
if "avx_vnni" in flags:
    config.available_features.add("avxvnni")

# NVIDIA's assembler, where there is one. Artifacts are made without it where a test does not ask for it.
config.environment["ATTN_PTXAS"] = ""
ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
if os.path.exists(ptxas):
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
