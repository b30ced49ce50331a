// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a GPU's kernels, as remarks (cpu/KernelRemarks.h has those of CPUs), and what
// would make them slow, as warnings.
#pragma once

#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/gpu/ptx/Ptxas.h"

namespace attn {

/// A remark for each kernel of `code`: its threads, blocks and shared memory, and, where it was
/// assembled, registers and spills. A warning for each kernel that spills registers or of which the
/// assembler warns. `assembly` is null where there is no assembler.
void remarkAssembly(mlir::Location model, const GpuCode &code, const Assembly *assembly);

} // namespace attn
