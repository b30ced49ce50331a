// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the memory stage, whose arguments are registers, behind functions that take one
// pointer to attn_abi_call: a wrapper for each entry, and one for the bytes of its workspace.
#include "compiler/emit/EntryWrappers.h"
#include "attn/abi.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstddef>

namespace attn {
#define GEN_PASS_DEF_WRAPENTRIESPASS
#include "compiler/emit/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

WrapEntriesPassOptions attn::entrySignatures(ModuleOp model) {
  WrapEntriesPassOptions signatures;
  for (auto [position, dim] : llvm::enumerate(model.getOps<DimOp>()))
    if (dim.getDynamic())
      signatures.dims.push_back(static_cast<int64_t>(position));
  for (const EntryInfo &entry : entriesOf(model))
    if (!entry.unfold)
      signatures.entries.push_back(
          llvm::formatv("{0}:{1}:{2}", entry.name, entry.inputs.size(), entry.outputs.size()));
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

/// An entry as the pass's options say it.
struct Entry {
  StringRef name;
  int64_t inputs = 0, outputs = 0;

  static FailureOr<Entry> of(StringRef text) {
    Entry entry;
    StringRef inputs, outputs;
    std::tie(entry.name, inputs) = text.split(':');
    std::tie(inputs, outputs) = inputs.split(':');
    if (inputs.getAsInteger(10, entry.inputs) || outputs.getAsInteger(10, entry.outputs))
      return failure();
    return entry;
  }
};

struct WrapEntriesPass : attn::impl::WrapEntriesPassBase<WrapEntriesPass> {
  using WrapEntriesPassBase::WrapEntriesPassBase;

  LLVM::LLVMFuncOp find(StringRef name) {
    auto function = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function) {
      getOperation().emitError() << "no function '" << name << "' for an entry";
      signalPassFailure();
    }
    return function;
  }

  void wrapEntry(const Entry &entry, LLVM::LLVMFuncOp callee) {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = IntegerType::get(&getContext(), 64);
    Wrapper wrapper(callee, entrySymbol(entry.name), LLVM::LLVMVoidType::get(&getContext()),
                    {pointer, i64});
    Value call = wrapper.argument(0), thread = wrapper.argument(1);
    auto field = [&](Type type, size_t offset) { return wrapper.load(type, call, offset); };
    SmallVector<Value> operands{field(pointer, offsetof(attn_abi_call, packed)),
                                field(pointer, offsetof(attn_abi_call, workspace)), call, thread,
                                field(i64, offsetof(attn_abi_call, threads))};
    Value sizes = field(pointer, offsetof(attn_abi_call, dims));
    for (int64_t dim : dims)
      operands.push_back(wrapper.load(i64, sizes, 8 * dim));
    Value inputs = field(pointer, offsetof(attn_abi_call, inputs));
    for (int64_t i = 0; i < entry.inputs; ++i)
      operands.push_back(wrapper.load(pointer, inputs, 8 * i));
    Value outputs = field(pointer, offsetof(attn_abi_call, outputs));
    for (int64_t i = 0; i < entry.outputs; ++i)
      operands.push_back(wrapper.load(pointer, outputs, 8 * i));
    wrapper.callAndReturn(operands);
  }

  void wrapWorkspace(const Entry &entry, LLVM::LLVMFuncOp callee) {
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = IntegerType::get(&getContext(), 64);
    Wrapper wrapper(callee, workspaceSymbol(entry.name), i64, {pointer, i64});
    SmallVector<Value> operands{wrapper.argument(1)};
    for (int64_t dim : dims)
      operands.push_back(wrapper.load(i64, wrapper.argument(0), 8 * dim));
    wrapper.callAndReturn(operands);
  }

  void runOnOperation() override {
    for (StringRef text : entries) {
      FailureOr<Entry> entry = Entry::of(text);
      if (failed(entry)) {
        getOperation().emitError() << "expected NAME:INPUTS:OUTPUTS, but got '" << text << "'";
        return signalPassFailure();
      }
      LLVM::LLVMFuncOp function = find(entry->name),
                       workspace = find(("workspace." + entry->name).str());
      if (!function || !workspace)
        return;
      wrapEntry(*entry, function);
      wrapWorkspace(*entry, workspace);
    }
  }
};

} // namespace
