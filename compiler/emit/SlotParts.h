// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From where in the checkpoint the columns of a packed slot are filled: #attn.source's strides as
// attn_abi_part has them.
#pragma once

#include "attn/abi.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// An axis of a parameter, as it lies in the checkpoint.
struct SourceAxis {
  int64_t size, stride;
};

/// Joins neighbours that advance evenly, and drops axes of one element.
llvm::SmallVector<SourceAxis> mergeAxes(llvm::ArrayRef<SourceAxis> axes);

/// Adds the parts of `param`, which fills the slot from `column` on and is `parameter` in the
/// table. Its last axes are the slot's k rows, those before its columns. An error is reported where
/// a part cannot say how the elements lie.
mlir::LogicalResult addParts(ParamOp param, int32_t parameter, int64_t k, int64_t column,
                             llvm::SmallVectorImpl<attn_abi_part> &parts);

} // namespace attn
