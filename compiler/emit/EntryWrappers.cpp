// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/EntryWrappers.h"
#include "attn/abi.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <cstddef>

using namespace mlir;
using namespace attn;

EntrySignatures EntrySignatures::of(ModuleOp model) {
  EntrySignatures signatures;
  for (auto [position, dim] : llvm::enumerate(model.getOps<DimOp>()))
    if (dim.getDynamic())
      signatures.dynamicDims.push_back(int32_t(position));
  for (const EntryInfo &entry : entriesOf(model))
    signatures.entries.push_back(
        {entry.name, int32_t(entry.inputs.size()), int32_t(entry.outputs.size())});
  return signatures;
}

std::string attn::entrySymbol(StringRef entry) { return ("entry." + entry).str(); }
std::string attn::workspaceSymbol(StringRef entry) { return ("size." + entry).str(); }

namespace {

/// Writes one wrapper.
class Wrapper {
public:
  Wrapper(LLVM::LLVMFuncOp callee, StringRef name, Type result, ArrayRef<Type> arguments)
      : callee(callee), builder(callee.getLoc(), callee.getContext()) {
    builder.setInsertionPointAfter(callee);
    function =
        LLVM::LLVMFuncOp::create(builder, name, LLVM::LLVMFunctionType::get(result, arguments));
    function.setVisibility_(LLVM::Visibility::Hidden);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
  }

  Value argument(unsigned i) { return function.getArgument(i); }

  /// The field at `bytes` of what `base` points to.
  Value load(Type type, Value base, int64_t bytes) {
    Value place = LLVM::GEPOp::create(builder, base.getType(), builder.getI8Type(), base,
                                      ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
    return LLVM::LoadOp::create(builder, type, place);
  }

  void callAndReturn(ValueRange operands) {
    auto call = LLVM::CallOp::create(builder, callee, operands);
    LLVM::ReturnOp::create(builder, call.getResults());
  }

private:
  LLVM::LLVMFuncOp callee;
  ImplicitLocOpBuilder builder;
  LLVM::LLVMFuncOp function;
};

struct EntryWrappersPass : PassWrapper<EntryWrappersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EntryWrappersPass)
  explicit EntryWrappersPass(EntrySignatures signatures) : signatures(std::move(signatures)) {}
  StringRef getArgument() const override { return "attn-wrap-entries"; }
  StringRef getDescription() const override { return "entries get the runtime's signature"; }

  LLVM::LLVMFuncOp find(StringRef name) {
    auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      getOperation().emitError() << "no function '" << name << "' for an entry";
      signalPassFailure();
    }
    return function;
  }

  void wrapEntry(const EntrySignatures::Entry &entry, LLVM::LLVMFuncOp callee) {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = IntegerType::get(&getContext(), 64);
    Wrapper wrapper(callee, entrySymbol(entry.name), LLVM::LLVMVoidType::get(&getContext()),
                    {pointer, i64});
    Value call = wrapper.argument(0), thread = wrapper.argument(1);
    auto field = [&](Type type, size_t offset) { return wrapper.load(type, call, offset); };
    SmallVector<Value> operands{field(pointer, offsetof(attn_abi_call, packed)),
                                field(pointer, offsetof(attn_abi_call, workspace)), call, thread,
                                field(i64, offsetof(attn_abi_call, threads))};
    Value dims = field(pointer, offsetof(attn_abi_call, dims));
    for (int32_t dim : signatures.dynamicDims)
      operands.push_back(wrapper.load(i64, dims, 8 * int64_t(dim)));
    Value inputs = field(pointer, offsetof(attn_abi_call, inputs));
    for (int64_t i = 0; i < entry.inputs; ++i)
      operands.push_back(wrapper.load(pointer, inputs, 8 * i));
    Value outputs = field(pointer, offsetof(attn_abi_call, outputs));
    for (int64_t i = 0; i < entry.outputs; ++i)
      operands.push_back(wrapper.load(pointer, outputs, 8 * i));
    wrapper.callAndReturn(operands);
  }

  void wrapWorkspace(const EntrySignatures::Entry &entry, LLVM::LLVMFuncOp callee) {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = IntegerType::get(&getContext(), 64);
    Wrapper wrapper(callee, workspaceSymbol(entry.name), i64, {pointer, i64});
    SmallVector<Value> operands{wrapper.argument(1)};
    for (int32_t dim : signatures.dynamicDims)
      operands.push_back(wrapper.load(i64, wrapper.argument(0), 8 * int64_t(dim)));
    wrapper.callAndReturn(operands);
  }

  void runOnOperation() override {
    for (const EntrySignatures::Entry &entry : signatures.entries) {
      LLVM::LLVMFuncOp function = find(entry.name), workspace = find("workspace." + entry.name);
      if (!function || !workspace)
        return;
      wrapEntry(entry, function);
      wrapWorkspace(entry, workspace);
    }
  }

  EntrySignatures signatures;
};

} // namespace

std::unique_ptr<Pass> attn::createEntryWrappersPass(EntrySignatures signatures) {
  return std::make_unique<EntryWrappersPass>(std::move(signatures));
}
