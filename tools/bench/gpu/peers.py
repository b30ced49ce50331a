# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What else computes the same: libraries, whose kernels are there, and compilers, which make some for each shape.

A contestant is a function that returns a call, or raises what the report says of it. A call may have `wall`: it is not on the device's stream, and is
timed by the clock."""
import importlib.util
import math
import os
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent


def compiled(torch, function):
    """torch.compile of a copy of the function, for the shapes that it is called with alone."""
    torch._dynamo.reset()
    own = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    return torch.compile(own, dynamic=False)


def attention_libraries(torch, q, k, v, is_causal, **options):
    def sdpa(backend):
        def make():
            from torch.nn.attention import SDPBackend, sdpa_kernel

            def call():  # of a short one, a CUDA graph has the kernel alone
                with sdpa_kernel([getattr(SDPBackend, backend)]):
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, **options)

            return call

        return make

    def flash3():
        from flash_attn_interface import flash_attn_func

        rows = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
        return lambda: flash_attn_func(*rows, causal=is_causal)

    return {"cuDNN": sdpa("CUDNN_ATTENTION"), "FlashAttention-2": sdpa("FLASH_ATTENTION"), "FlashAttention-3": flash3}


def attention_compilers(torch, q, k, v, is_causal, **options):
    def flex():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        function = compiled(torch, flex_attention)
        length = q.shape[2]
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length) if is_causal else None
        return lambda: function(q, k, v, block_mask=mask, **options)

    found = {"FlexAttention": flex}
    if not options:
        found |= {"Triton": lambda: triton_attention(q, k, v, is_causal), "JAX": lambda: jax_attention(q, k, v, is_causal)}
    return found


def triton_attention(q, k, v, is_causal):
    """Triton's tutorial 06, whose file TRITON_TUTORIAL names: it is no part of the package."""
    path = os.environ.get("TRITON_TUTORIAL", str(HERE / "06-fused-attention.py"))
    if not os.path.exists(path):
        raise RuntimeError("Triton's 06-fused-attention.py is not there: TRITON_TUTORIAL names it")
    spec = importlib.util.spec_from_file_location("fused_attention", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scale, function = 1 / math.sqrt(q.shape[-1]), module.attention
    try:
        function(q, k, v, is_causal, scale, False)  # whether warps are specialised, since Triton 3.4
        return lambda: function(q, k, v, is_causal, scale, False)
    except TypeError:
        return lambda: function(q, k, v, is_causal, scale)


def jax_attention(q, k, v, is_causal):
    """JAX's attention for Hopper by Mosaic, which does not scale its scores: the time is what counts."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from jax.experimental.pallas.ops.gpu import attention_mgpu

    rows = [jax.dlpack.from_dlpack(x.transpose(1, 2).contiguous()) for x in (q, k, v)]
    config = attention_mgpu.TuningConfig(block_q=64, block_kv=128, max_concurrent_steps=2, causal=is_causal)
    function = jax.jit(lambda *given: attention_mgpu.attention(*given, config))
    function(*rows).block_until_ready()

    def call():
        call.last = function(*rows)

    call.wall = lambda: call.last.block_until_ready()
    return call


def linear_libraries(torch, x, weight, bias):
    return {"cuBLAS": lambda: lambda: torch.nn.functional.linear(x, weight, bias)}


def linear_compilers(torch, x, weight, bias):
    def make():
        function = compiled(torch, lambda x, weight, bias: torch.nn.functional.linear(x, weight, bias))
        return lambda: function(x, weight, bias)

    return {"torch.compile": make}


def model_libraries(plain, given):
    """PyTorch op by op; a short run is a CUDA graph, as Attn's is."""
    return {"PyTorch": lambda: lambda: plain(*given)}


def model_compilers(torch, plain, given):
    def make():
        function = compiled(torch, plain)
        return lambda: function(*given)

    return {"torch.compile": make}
