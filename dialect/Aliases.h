// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands once in the text of a stage, under a name of its own: large tables, and places in the
// spec.
//
//   %7 = attn.linear ... loc(#L23C29_L23C24-vit-mlp_fc1)
//   #L23C29-vit = loc("examples/vit.attn":23:29)
//
// So a person goes from an op to its line without looking the location up, and the text can still
// be read again. A fused op's name has the places of all its parts.
#pragma once

#include "mlir/IR/DialectInterface.h"
#include <memory>

namespace attn {

/// The interface by which a dialect names them.
std::unique_ptr<mlir::DialectInterface> createAliases(mlir::Dialect *dialect);

} // namespace attn
