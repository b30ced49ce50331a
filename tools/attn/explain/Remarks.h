// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's remarks: what became of each kernel, and the reasons why something was not done
// (dialect/Reasons.h).
#pragma once

#include "mlir/IR/Remarks.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace attn::tool {

/// Keeps the remarks of a context. Reasons may be given before their kernel is there, and after it.
class Remarks {
public:
  /// A remark.
  struct Entry {
    std::string target;          ///< a level or GPU; of a reason for all of them empty
    std::string function, text;  ///< of a reason without its code
    std::string code, mend;      ///< of a reason alone
    llvm::json::Object facts;    ///< of a kernel alone (compiler/kernels/KernelFacts.h)
    std::vector<std::string> at; ///< `file:line:column`, the first is the one that is shown
  };

  /// Takes the remarks of `context` from now on. False where that cannot be.
  bool listenTo(mlir::MLIRContext &context);

  /// What became of kernels, in the order in which they were lowered, target by target.
  llvm::ArrayRef<Entry> kernels() const { return ofKernels; }
  /// Why something was not done, each reason once.
  llvm::ArrayRef<Entry> reasons() const { return ofReasons; }

private:
  class Streamer;

  /// Keeps a remark.
  void add(const mlir::remark::detail::Remark &remark);

  std::vector<Entry> ofKernels, ofReasons;
};

} // namespace attn::tool
