// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remarks say of a kernel in words, as names and values for programs: the tiles that were
// chosen, the verdicts on a mask, the estimates of lowerings. tools/attn/EXPLAIN.md lists them.
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace attn {

/// Adds facts to a kernel (attributes::facts), which a remark on it takes along. Does nothing where
/// nobody listens to remarks.
class KernelFacts {
public:
  explicit KernelFacts(mlir::Operation *kernel);

  /// A fact with a value. Of the same name the last counts.
  void add(llvm::StringRef name, llvm::json::Value value);
  /// One more value of a fact that is a list.
  void append(llvm::StringRef name, llvm::json::Value value);
  /// A number, where it is known.
  void addKnown(llvm::StringRef name, std::optional<int64_t> number);

private:
  /// Has `edit` change the facts, where somebody listens.
  void change(llvm::function_ref<void(llvm::json::Object &)> edit);

  mlir::Operation *kernel; ///< null where nobody listens
};

/// The facts of a kernel as JSON, an object; empty where there are none.
std::string factsOf(mlir::Operation *kernel);

/// The key of a remark's argument that holds facts: the text of a JSON object.
constexpr llvm::StringLiteral factsKey = "Facts";

} // namespace attn
