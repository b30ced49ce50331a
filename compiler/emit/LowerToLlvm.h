// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernels -> llvm: vector code, loops and addresses of one CPU level become the LLVM dialect.
//
//   %a = attn.address @w[%l] in %packed        ->  packed + w.offset + l * w.layer_stride
//   attn.barrier %call, %thread                ->  call->barrier(call->team, thread)
//   func.func private @f(%x: memref<f32>)      ->  llvm.func internal @f(%x: !llvm.ptr)
#pragma once

#include "compiler/emit/Passes.h"
#include "compiler/target/CpuTarget.h"
#include "mlir/Pass/PassManager.h"

namespace attn {

/// Lowers a kernels-stage module. Buffers are passed as bare pointers. Functions carry the level's
/// CPU and features; private ones become internal. Declarations of the model and of its layout
/// (attn.dim, attn.param, attn.slot) are dropped. `entries` get functions that the runtime can
/// call.
void buildLowerToLlvm(mlir::OpPassManager &passes, const CpuTarget &level,
                      const WrapEntriesPassOptions &entries = {});

} // namespace attn
