// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much of each attention a mask leaves, at the sizes of a run: what `attn explain` says of the
// same spec, for `attn bench`.
#pragma once

#include "Build.h"
#include <map>

namespace attn::tool {

/// Sets the sizes that remarks and counts assume, by `--set-size`. 0, or an exit code after an
/// error.
int assumeSizes(mlir::ModuleOp module, const llvm::opt::InputArgList &args);

/// The shares of a spec's kernels, which are counted when the first one is asked for.
class LiveShares {
public:
  LiveShares(Spec &spec, const CompileOptions &options) : spec(spec), options(options) {}

  /// The share of pairs in live tiles of kernel `kernel` of the tables; negative where the mask is
  /// judged when running. `dims` are all of the model's.
  double of(int32_t kernel, const int64_t *dims, llvm::StringRef level);

private:
  Spec &spec;
  const CompileOptions &options;
  std::map<int32_t, double> known;
  bool isCounted = false;
};

} // namespace attn::tool
