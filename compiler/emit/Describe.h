// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is said of a model besides its code: the C header, and the description in JSON that lies in
// the artifact.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace attn {

/// The typed C header of a model.
std::string emitHeader(mlir::ModuleOp model);

/// The description of a model: entries, dims, dtypes, parameters, targets, versions.
llvm::json::Object describeModel(mlir::ModuleOp model, const CompileOptions &options);

} // namespace attn
