// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's remarks for people: what became of each kernel, and under it the reasons why
// something was not done (dialect/Reasons.h).
#pragma once

#include "mlir/IR/Remarks.h"
#include <string>
#include <vector>

namespace attn::tool {

/// Keeps the remarks of a context until they are printed. Reasons may be given before their kernel
/// is there, and after it.
class RemarkPrinter {
public:
  /// Takes the remarks of `context` from now on. False where that cannot be.
  bool listenTo(mlir::MLIRContext &context);

  /// Prints kernels, under the CPU level or GPU they are for, with their places in the spec, to
  /// standard output; behind them reasons that no kernel has. With JSON diagnostics reasons are
  /// objects on standard error instead.
  void print() const;

private:
  class Streamer;

  /// A remark.
  struct Entry {
    std::string target;          ///< a level or GPU; of a reason for all of them empty
    std::string function, text;  ///< of a reason without its code
    std::string code, mend;      ///< of a reason alone
    std::vector<std::string> at; ///< `file:line:column`, the first is the one that is shown
  };

  /// Keeps a remark.
  void add(const mlir::remark::detail::Remark &remark);
  /// Prints kernels with their reasons, and marks those.
  void printKernels(std::vector<bool> &isShown) const;
  /// Prints a reason under the op that it is of.
  void printReason(const Entry &reason) const;

  std::vector<Entry> kernels, reasons;
};

} // namespace attn::tool
