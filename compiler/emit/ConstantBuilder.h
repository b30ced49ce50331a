// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C tables as constants of an LLVM module. Struct types follow from their fields: on x86-64, LLVM
// lays them out as C does.
#pragma once

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

namespace attn {

/// Makes the constants that tables consist of. It owns nothing: constants belong to the module.
class ConstantBuilder {
public:
  explicit ConstantBuilder(llvm::Module &module) : module(module), context(module.getContext()) {}

  /// Numbers of C's types.
  llvm::Constant *i32(int64_t value) const {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value, /*IsSigned=*/true);
  }
  llvm::Constant *i64(int64_t value) const {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value, /*IsSigned=*/true);
  }
  llvm::Constant *f32(float value) const {
    return llvm::ConstantFP::get(llvm::Type::getFloatTy(context), value);
  }
  llvm::Constant *f64(double value) const {
    return llvm::ConstantFP::get(llvm::Type::getDoubleTy(context), value);
  }
  /// A null pointer.
  llvm::Constant *null() const {
    return llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  }
  /// A struct with these fields, laid out as C does.
  llvm::Constant *structure(llvm::ArrayRef<llvm::Constant *> fields) const {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  /// Elements side by side, all of one type.
  llvm::Constant *sequence(llvm::ArrayRef<llvm::Constant *> elements) const {
    auto *type = llvm::ArrayType::get(elements.front()->getType(), elements.size());
    return llvm::ConstantArray::get(type, elements);
  }

  /// A pointer to a constant of the module's own.
  llvm::GlobalVariable *place(llvm::Constant *value, const llvm::Twine &name) const {
    auto *variable =
        new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::PrivateLinkage, value, "attn." + name);
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }
  /// A pointer to an array; null where it is empty.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements, const llvm::Twine &name) const {
    return elements.empty() ? null() : place(sequence(elements), name);
  }
  /// A pointer to a text that ends with NUL.
  llvm::Constant *text(llvm::StringRef value) const {
    return place(llvm::ConstantDataArray::getString(context, value), "text");
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace attn
