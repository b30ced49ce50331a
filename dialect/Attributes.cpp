// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifies the attributes that the dialect gives to ops of others, by the rows of Attributes.def.
#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace attn;

namespace {
enum Holders : unsigned {
  Module = 1 << 0,
  Function = 1 << 1,
  Argument = 1 << 2,
  Result = 1 << 3,
  Kernel = 1 << 4
};

struct Row {
  llvm::StringLiteral name, type;
  bool (*hasType)(Attribute value);
  unsigned holders;
};
} // namespace

static constexpr Row rows[] = {
#define ATTN_ATTRIBUTE(identifier, name, type, holders, meaning)                                   \
  {"attn." name, #type, [](Attribute value) { return isa<type>(value); }, holders},
#include "dialect/Attributes.def"
};

static StringRef nameOf(Holders holder) {
  switch (holder) {
  case Module:
    return "a module";
  case Function:
    return "a function";
  case Argument:
    return "an argument";
  case Result:
    return "a result";
  case Kernel:
    break;
  }
  return "an op";
}

static LogicalResult verify(Operation *op, NamedAttribute attribute, Holders holder) {
  StringRef name = attribute.getName().strref();
  const Row *nearest = nullptr;
  for (const Row &row : rows) {
    if (row.holders & holder && row.name == name) {
      if (row.hasType(attribute.getValue()))
        return success();
      return op->emitOpError("has ")
             << attribute.getName() << " = " << attribute.getValue() << ", expected " << row.type;
    }
    if (row.holders & holder &&
        (!nearest || row.name.edit_distance(name) < nearest->name.edit_distance(name)))
      nearest = &row;
  }
  InFlightDiagnostic error = op->emitOpError("has ")
                             << attribute.getName() << ", which is no attribute of "
                             << nameOf(holder);
  if (nearest && nearest->name.edit_distance(name) <= 2)
    error << "; did you mean `" << nearest->name << "`?";
  return error;
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verify(op, attribute,
                isa<ModuleOp>(op)              ? Module
                : isa<FunctionOpInterface>(op) ? Function
                                               : Kernel);
}

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                    NamedAttribute attribute) {
  return verify(op, attribute, Argument);
}

LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                       NamedAttribute attribute) {
  return verify(op, attribute, Result);
}
