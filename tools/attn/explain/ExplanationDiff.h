// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What differs between two explanations (Explanation.h): of two specs, targets, precisions or
// versions of the compiler. Kernels are matched by the layer and the kind that they are of.
#pragma once

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace attn::tool {

/// A target of an explanation.
struct ExplainedTarget {
  std::string label; ///< "vit.attn for x86-64-v4, f32"
  const llvm::json::Object *target;
};

/// The targets of an explanation, which must outlive them.
std::vector<ExplainedTarget> targetsOf(const llvm::json::Object &explanation);

/// The difference as a JSON object: `a` and `b` are the labels, `changes` those of weights and
/// workspaces; `kernels` are those that both have and that differ, with their `changes`, first
/// those whose times differ most or whose operations are most; `only_a` and `only_b` are those that
/// one side has; `same` is how many are alike. With measured runs of both, `seconds` are theirs.
llvm::json::Object difference(const ExplainedTarget &a, const ExplainedTarget &b);

/// Whether a difference says that both are the same, but for times.
bool areSame(const llvm::json::Object &difference);

/// Prints a difference as lines for people.
void printDifference(const llvm::json::Object &difference, llvm::raw_ostream &stream);

} // namespace attn::tool
