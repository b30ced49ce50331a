// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of the attributes that the dialect gives to ops of others (Attributes.def).
#pragma once

#include "llvm/ADT/StringRef.h"

namespace attn::attributes {

#define ATTN_ATTRIBUTE(identifier, name, type, holders, meaning)                                   \
  inline constexpr llvm::StringLiteral identifier = "attn." name;
#include "dialect/Attributes.def"

} // namespace attn::attributes
