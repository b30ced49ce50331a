// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What became of a spec, as one JSON object: `attn explain --json` prints it, and all else that
// `attn explain` says is drawn from it. EXPLAIN.md describes its members.
#pragma once

#include "Remarks.h"
#include "compiler/Compiler.h"
#include "tools/attn/build/Spec.h"

namespace attn::tool {

/// The version of the schema. It grows when a member changes its meaning or goes, not when one
/// comes.
constexpr int64_t explanationVersion = 1;

/// The explanation of a spec that was lowered to `lowered`, the kernels stage of each level and the
/// memory stage of each GPU, while `remarks` listened. Sizes are those of attributes::sizes, else
/// the dims' bounds.
llvm::json::Object explain(Spec &spec, const CompileOptions &options,
                           llvm::ArrayRef<Staged> lowered, const Remarks &remarks);

/// Whether an object has what all who read explanations rely on: that of this version of the
/// schema.
bool isExplanation(const llvm::json::Object &object);

/// An explanation as the bytes that an artifact keeps (`attn compile -g`), and back; an error where
/// they are damaged.
std::string packExplanation(llvm::json::Object explanation);
llvm::Expected<llvm::json::Object> unpackExplanation(llvm::StringRef bytes);

} // namespace attn::tool
