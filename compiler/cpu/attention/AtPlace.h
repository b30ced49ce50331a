// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The place in the spec, and the term of an attention, that ops are written for.
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// While it lives, what those who write ops give them as their location is `place`.
class AtPlace {
public:
  AtPlace(llvm::ArrayRef<mlir::Location *> locs, mlir::Location place) {
    for (mlir::Location *loc : locs) {
      before.emplace_back(loc, *loc);
      *loc = place;
    }
  }
  ~AtPlace() {
    for (auto [loc, place] : before)
      *loc = place;
  }
  AtPlace(const AtPlace &) = delete;
  AtPlace &operator=(const AtPlace &) = delete;

private:
  llvm::SmallVector<std::pair<mlir::Location *, mlir::Location>, 2> before;
};

} // namespace attn
