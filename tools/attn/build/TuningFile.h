// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--tuning=FILE`: measured choices as an input of the compiler.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "compiler/transforms/Tuning.h"
#include "llvm/Option/ArgList.h"

namespace attn::tool {

/// The name of this machine's CPU, by which choices are kept.
std::string hostCpuName();

/// Reads a file of measured choices. 0, or an exit code after an error has been printed.
int readTuning(llvm::StringRef path, Tuning &tuning);

/// Takes what holds for this CPU and the levels in `options`.
void takeChoices(const Tuning &tuning, CompileOptions &options);

/// Takes what the file that `--tuning` names holds; a note says where that is nothing. 0, or an
/// exit code after an error has been printed.
int takeTuning(const llvm::opt::InputArgList &args, CompileOptions &options);

} // namespace attn::tool
