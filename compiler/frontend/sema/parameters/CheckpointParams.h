// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters as tensors of the checkpoint.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The parameter `path` of `owner`, a tensor of `axes`. In the checkpoint's tensor `name`, with the
/// owner's placeholders, of `shape`, it has its first element at `offset`, others by `strides`.
/// Without a type where it was reported.
ParamRef makeParam(Sema &sema, const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                   llvm::StringRef name, llvm::ArrayRef<int64_t> shape, int64_t offset,
                   llvm::ArrayRef<int64_t> strides, bool optional, SourceRange range);

/// The same elements as another parameter, as a tensor of `axes`; without a type where it was
/// reported.
ParamRef tiedParam(Sema &sema, const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                   const ParamRef &target, bool optional, SourceRange range);

} // namespace attn::frontend
