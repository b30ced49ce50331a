# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an artifact's run is checked against and timed beside."""
import math
from dataclasses import dataclass, field

import numpy as np

import peers
from attn_api import F32, HALVES, I32, SEED
from devices import Torch
from references import bert, gpt2, vit

# Relative L2 errors. One rounding to bf16 is 2^-9; a model's weights and rows are rounded, too.
BOUNDS = {"attention": 5e-3, "decoding": 5e-3, "linear": 5e-3, "vit": 2e-2, "bert": 2e-2, "gpt2": 2e-2}
# Operations of a reference of attention: of longer ones, some heads are computed.
REFERENCE_FLOP = 2e11


@dataclass
class Case:
    label: str
    kind: str
    call: object  # runs it once
    outputs: list  # buffers of the device
    expected: list  # tensors that they are held against
    found: object = None  # what of the outputs is: those themselves, or some heads of them
    libraries: dict = field(default_factory=dict)
    compilers: dict = field(default_factory=dict)
    flop: float = 0
    bytes: float = 0
    has_classes: bool = False  # the outputs are logits


def suffix(artifact):
    return ("" if artifact["half"] == "bf16" else f", {artifact['half']}") + (f", {artifact['option']}" if artifact["option"] else "")


def other(call):
    """A contestant of the interpreter's runs, which have no GPU's."""
    call.wall = lambda: None
    return {"NumPy": lambda: call}


def attention(device, model, artifact, run, numbers):
    b, h, t, e = (artifact["sizes"][dim] for dim in "BHTE")
    is_causal = run["entry"] == "masked"
    inputs = [device.put(numbers.standard_normal((b, h, t, e), np.float32), HALVES[artifact["half"]]) for _ in range(3)]
    heads = np.unique(np.linspace(0, b * h - 1, max(2, min(b * h, int(REFERENCE_FLOP / (4 * t * t * e))))).astype(int))
    chosen = lambda x: x.reshape(b * h, 1, t, e)[heads]
    given = [chosen(device.exact(buffer)) for buffer in inputs]
    # A few heads at a time: scores are not to fill the memory.
    step = max(1, (1 << 28) // (t * t))
    parts = [device.ops.attention(*[x[at : at + step] for x in given], is_causal=is_causal) for at in range(0, len(heads), step)]
    call, outputs = model.prepare(run["entry"], inputs)
    case = Case(f"{b} x {h} x {t} x {e}" + (", causal" if is_causal else "") + suffix(artifact), "attention", call, outputs,
                [device.ops.concatenate(parts, 0)], found=lambda tensors: [chosen(x) for x in tensors])
    case.flop = 4 * b * h * t * t * e / (2 if is_causal else 1)
    case.libraries = case.compilers = other(lambda: device.ops.attention(*given, is_causal=is_causal))
    if isinstance(device, Torch):
        values = [buffer.value for buffer in inputs]
        case.libraries = peers.attention_libraries(device.torch, *values, is_causal)
        case.compilers = peers.attention_compilers(device.torch, *values, is_causal)
    return [case]


def decoding(device, model, artifact, run, numbers):
    """A few tokens, heads in groups that share keys, all keys: reading these is what takes time."""
    b, h, g, t, s, e = (artifact["sizes"][dim] for dim in "BHGTSE")
    inputs = [device.put(numbers.standard_normal(shape, np.float32), HALVES[artifact["half"]]) for shape in ((b, h, t, e), (b, g, s, e), (b, g, s, e))]
    exact = [device.exact(buffer) for buffer in inputs]
    grouped = exact[0].reshape(b, g, h // g * t, e)
    call, outputs = model.prepare("decode", inputs)
    case = Case(f"{b} x {h} heads in {g}, {t} of {s} x {e}" + suffix(artifact), "decoding", call, outputs,
                [device.ops.attention(grouped, *exact[1:]).reshape(b, h, t, e)], bytes=2 * (2 * b * g * s * e + 2 * b * h * t * e))
    if isinstance(device, Torch):
        values = [buffer.value for buffer in inputs]
        case.libraries = peers.attention_libraries(device.torch, *values, False, enable_gqa=True)
        case.compilers = peers.attention_compilers(device.torch, *values, False, enable_gqa=True)
    return [case]


def linear(device, model, artifact, run, numbers):
    m, k, n = (artifact["sizes"][dim] for dim in "MKN")
    x = device.put(numbers.standard_normal((m, k), np.float32), HALVES[artifact["half"]])
    weights = device.weights(model.weights())
    weight, bias = weights["w.weight"], weights["w.bias"]
    call, outputs = model.prepare("apply", [x])
    case = Case(f"{m} x {k} -> {n}" + suffix(artifact), "linear", call, outputs, [device.ops.linear(device.exact(x), weight, bias)], flop=2 * m * k * n)
    if isinstance(device, Torch):
        narrow, short = weight.to(x.value.dtype), bias.to(x.value.dtype)
        case.libraries = peers.linear_libraries(device.torch, x.value, narrow, short)
        case.compilers = peers.linear_compilers(device.torch, x.value, narrow, short)
    return [case]


def with_peers(case, device, function, weights, artifact, inputs):
    """The model in PyTorch's halves."""
    if isinstance(device, Torch):
        torch, half = device.torch, device.types[HALVES[artifact["half"]]]
        narrow = {name: tensor.to(half) for name, tensor in weights.items()}
        given = [x.long() if x.dtype == torch.int32 else x.to(half) for x in inputs]
        ops, sizes = device.ops, artifact["sizes"]
        plain = lambda *arguments: function(ops, narrow, sizes, *arguments)
        case.libraries, case.compilers = peers.model_libraries(plain, given), peers.model_compilers(torch, plain, given)
    return case


def vit_case(device, model, artifact, run, numbers):
    sizes, batch = artifact["sizes"], run["B"]
    side = sizes.get("P", 16) * sizes.get("Y", 14)
    image = device.put(numbers.standard_normal((batch, 3, side, side), np.float32), F32)
    weights = device.weights(model.weights())
    call, outputs = model.prepare("classify", [image])
    case = Case(f"ViT-B/16, batch {batch}" + suffix(artifact), "vit", call, outputs, vit(device.ops, weights, sizes, device.exact(image)), has_classes=True)
    return [with_peers(case, device, vit, weights, artifact, [image.value])]


def bert_case(device, model, artifact, run, numbers):
    sizes, batch, count = artifact["sizes"], run["B"], run["T"]
    ids = numbers.integers(0, sizes.get("V", 30522), (batch, count), np.int32)
    segments = numbers.integers(0, 2, (batch, count), np.int32)
    lengths = numbers.integers(count // 2, count + 1, batch, np.int32)
    inputs = [device.put(values, I32) for values in (ids, segments, lengths)]
    weights = device.weights(model.weights())
    call, outputs = model.prepare("encode", inputs)
    case = Case(f"BERT-base, batch {batch}, {count} tokens" + suffix(artifact), "bert", call, outputs,
                bert(device.ops, weights, sizes, *[device.exact(x) for x in inputs]))
    return [with_peers(case, device, bert, weights, artifact, [x.value for x in inputs])]


def gpt2_cases(device, model, artifact, run, numbers):
    """The prompt, and one token behind it; the cache is as it was after each."""
    sizes, batch, count = artifact["sizes"], run["B"], run["T"]
    ids = numbers.integers(0, sizes.get("V", 50257), (batch, count + 1), np.int32)
    prompt, token = device.put(ids[:, :count], I32), device.put(ids[:, count:], I32)
    weights = device.weights(model.weights())
    call, outputs = model.prepare("prefill", [prompt], lambda: model.truncate(0))
    prefill = Case(f"GPT-2, batch {batch}, {count} tokens" + suffix(artifact), "gpt2", call, outputs,
                   gpt2(device.ops, weights, sizes, device.exact(prompt)), has_classes=True)
    yield with_peers(prefill, device, gpt2, weights, artifact, [prompt.value])
    once, _ = model.prepare("prefill", [prompt])
    once()
    call, outputs = model.prepare("decode", [token], lambda: model.truncate(count))
    yield Case(f"GPT-2, batch {batch}, a token behind {count}" + suffix(artifact), "gpt2", call, outputs,
               gpt2(device.ops, weights, sizes, device.exact(device.put(ids, I32))), has_classes=True)
    model.truncate(0)


CASES = {"attention": attention, "decoding": decoding, "linear": linear, "vit": vit_case, "bert": bert_case, "gpt2": gpt2_cases}


def cases_of(device, model, artifact, run):
    return CASES[artifact["kind"]](device, model, artifact, run, np.random.default_rng(SEED))


def check(device, case):
    """Errors of every output; whether runs give the same bits (the third and later ones are CUDA graphs)."""
    if len(case.outputs) != len(case.expected):
        raise RuntimeError(f"{len(case.outputs)} outputs, expected {len(case.expected)}")
    seen = []
    for _ in range(4):
        case.call()
        device.wait()
        seen.append([device.bits(buffer) for buffer in case.outputs])
    found = [device.exact(buffer) for buffer in case.outputs]
    found = case.found(found) if case.found else found
    errors = [device.error(own, wanted) for own, wanted in zip(found, case.expected)]
    bound = BOUNDS[case.kind]
    worst = math.nan if any(math.isnan(error) for error in errors) else max(errors)
    result = {"error": worst, "bound": bound, "good": all(error <= bound for error in errors),
              "same_bits": bool(all((a == b).all() for later in seen[1:] for a, b in zip(seen[0], later)))}
    if case.has_classes:
        result["same_class"] = device.mean(found[0].argmax(-1) == case.expected[0].argmax(-1))
    return result
