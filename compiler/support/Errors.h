// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors below the front end that are no mistake of the compiler: what a back end cannot do with a
// correct model, what the environment refuses. All others are taken for internal ones.
#pragma once

#include "mlir/IR/Diagnostics.h"

namespace attn {

/// Whose fault an error is: the compiler's, the spec's, or that of the machine around it.
enum class ErrorKind { Internal, Input, Environment };

/// An error of this kind at `location`.
inline mlir::InFlightDiagnostic emitErrorOf(ErrorKind kind, mlir::Location location) {
  mlir::InFlightDiagnostic error = mlir::emitError(location);
  if (mlir::Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().push_back(mlir::DiagnosticArgument(static_cast<int64_t>(kind)));
  return error;
}

/// The kind that emitErrorOf gave an error.
inline ErrorKind errorKindOf(mlir::Diagnostic &diagnostic) {
  for (mlir::DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Integer)
      return static_cast<ErrorKind>(argument.getAsInteger());
  return ErrorKind::Internal;
}

} // namespace attn
