// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters: elements picked out of the checkpoint's tensors.
#pragma once

#include "compiler/reference/Interpreter.h"
#include "compiler/reference/Scope.h"
#include <string>

namespace attn::reference {

/// Loads checkpoint tensors and remembers them: those without a layer for good, those of a layer
/// until another layer is asked for, so that a deep model never lies in memory whole.
class Parameters {
public:
  explicit Parameters(ParameterLoader load) : load(load) {}

  /// The value of `param`, at `layer` where it belongs to a stack.
  llvm::Expected<Tensor> get(ParamOp param, int64_t layer);

private:
  /// The elements of a checkpoint's tensor, in double precision.
  using Elements = std::vector<double>;
  /// The tensor that a parameter is picked out of, loaded when it is first needed.
  llvm::Expected<const Elements *> source(ParamOp param, int64_t layer);

  ParameterLoader load;
  llvm::StringMap<Elements> global, ofLayer;
  int64_t loadedLayer = 0;
};

} // namespace attn::reference
