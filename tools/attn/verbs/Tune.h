// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn compile --tune`: kernels are measured with other tiles than the model of the target says.
#pragma once

#include "tools/attn/build/Build.h"

namespace attn::tool {

/// `--tune` and what goes with it. 0, or an exit code after an error has been printed.
int checkTuning(const llvm::opt::InputArgList &args);

/// Measures on this machine, at each level that is compiled for, writes the choices to the file
/// that `--tuning` names, beside those that it holds of other kernels, and takes them. 0, or an
/// exit code after an error has been printed.
int tuneKernels(Spec &spec, const llvm::opt::InputArgList &args, CompileOptions &options);

} // namespace attn::tool
