// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bills of materials: what artifacts, and the tools themselves, are linked from, in the words of
// SPDX 2.3.
#pragma once

#include "compiler/emit/Link.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// The section of an artifact that holds its bill of materials.
constexpr llvm::StringLiteral materialsSection = ".attn.spdx";

/// The document (JSON) of an artifact that `object` becomes with `options`. It depends on both
/// alone, so that it names no time of its making.
std::string artifactMaterials(llvm::StringRef object, const LinkOptions &options);

/// The document of the tools with the page of `attn explore`: all that is linked into them.
std::string toolMaterials();

} // namespace attn
