// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of `--map` and `--taps` to an Observation.
#pragma once

#include "RunObserver.h"
#include "llvm/Option/ArgList.h"

namespace attn::tool {

/// Reads what is to be made of a run, files of labels included. 0, or an exit code after an error
/// has been printed.
int readObservation(const llvm::opt::InputArgList &args, Observation &observation);

} // namespace attn::tool
