// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function of a block for one set of sizes and values: its types, its parameters and its body.
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/attention/HookTensors.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Bodies.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

namespace {
/// The body of a block while it is built: its names, parameters and taps stand for those of what
/// applies it, which are back afterwards.
class ScopedBlock {
public:
  ScopedBlock(Sema &sema, const Signature &signature, const Owner &owner, Scope &inside)
      : place(sema.builder), scope(sema.names.scope, &inside), layer(sema.function.layer),
        taps(sema.function.taps, Taps()), context(sema.statement.context, signature.name.text),
        owner(sema.function.owner, &owner), depth(sema.function.depth, sema.function.depth + 1) {}

private:
  mlir::OpBuilder::InsertionGuard place;
  llvm::SaveAndRestore<Scope *> scope;
  llvm::SaveAndRestore<mlir::Value> layer;
  llvm::SaveAndRestore<Taps> taps;
  llvm::SaveAndRestore<std::string> context;
  llvm::SaveAndRestore<const Owner *> owner;
  llvm::SaveAndRestore<unsigned> depth;
};
} // namespace

/// Declares what a block's body declares and sets up its dims, parts, parameters and hooks.
static void declareBody(Sema &sema, const BlockDecl &block, const Owner &owner, Scope &inside) {
  declareItems(sema, inside, block.items, /*conditional=*/false);
  declareItems(sema, inside, block.items, /*conditional=*/true);
  for (Decl *decl : inside.order)
    if (decl->kind == Decl::Kind::Dim)
      sizeOf(sema, *decl);
    else if (decl->kind == Decl::Kind::Part)
      declarePart(sema, *decl);
    else if (decl->kind == Decl::Kind::Stack)
      declareStack(sema, *decl);
  setUpParameters(sema, inside, owner);
  for (Decl *decl : inside.order)
    if (decl->kind == Decl::Kind::Hook) {
      decl->withOwner = std::make_shared<const Owner>(owner);
      decl->withScope = &inside;
    }
}

/// Reads the types of a block's parameters and results, with the axes that it does not speak of in
/// front; false after an error.
static bool readTypes(Sema &sema, Instance &instance, const BlockDecl &block,
                      llvm::SmallVectorImpl<mlir::Type> &inputs,
                      llvm::SmallVectorImpl<mlir::Type> &outputs) {
  auto lift = [&](const Axes &lifted, std::vector<Axes> &axes,
                  llvm::SmallVectorImpl<mlir::Type> &types, SourceRange range) {
    if (lifted.empty() || !types.back())
      return true;
    axes.back().insert(axes.back().begin(), lifted.begin(), lifted.end());
    types.back() = tensorType(sema, axes.back(), range,
                              llvm::cast<mlir::RankedTensorType>(types.back()).getElementType());
    return static_cast<bool>(types.back());
  };
  const Signature &signature = block.signature;
  bool fine = checkLength(sema.report, signature);
  instance.lifted.resize(signature.parameters.size());
  for (auto [parameter, lifted] : llvm::zip_equal(signature.parameters, instance.lifted)) {
    if (parameter.type.isCache()) {
      instance.parameters.emplace_back();
      continue;
    }
    fine &= readType(sema, parameter.type, instance.parameters, inputs, "a parameter",
                     TypePlace::Block);
    fine &= lift(lifted, instance.parameters, inputs, parameter.type.range);
  }
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const Type &type = block.isCell ? signature.resultType(i) : signature.results[i];
    fine &= readType(sema, type, instance.results, outputs, "a result", TypePlace::Block);
    fine &= lift(instance.everyLifted, instance.results, outputs, type.range);
  }
  return fine;
}

/// Builds the function of a block whose names are declared and whose types are read.
static void buildFunction(Sema &sema, Instance &instance, const BlockDecl &block,
                          const Owner &owner, Scope &inside, llvm::ArrayRef<mlir::Type> inputs,
                          llvm::ArrayRef<mlir::Type> outputs) {
  const Signature &signature = block.signature;
  mlir::OpBuilder &builder = sema.builder;
  builder.setInsertionPointToEnd(sema.output.module->getBody());
  auto function = mlir::func::FuncOp::create(
      builder, locate(sema, signature.name.range, signature.name.text),
      uniqueSymbol(sema.output, signature.name.text), builder.getFunctionType(inputs, outputs));
  function.setPrivate();
  sema.function.frames.push_back({function, &instance, &inside});
  mlir::Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  sema.function.layer = owner.inStack ? mlir::Value(entry->getArgument(0)) : mlir::Value();
  unsigned next = owner.inStack;
  for (const auto &[parameter, cache] : llvm::zip_equal(signature.parameters, instance.caches)) {
    const auto &[name, type] = parameter;
    SemaValue value =
        type.isCache() ? SemaValue::of(cache) : SemaValue::of(entry->getArgument(next++));
    if (Decl *decl = declare(sema, inside, Decl::Kind::Value, &block, name.text, name.range)) {
      decl->value = value;
      decl->isParameter = true;
    }
  }
  std::vector<SemaValue> values = buildBody(sema, block.items, block.closingBrace, signature);
  std::vector<SourceRange> places = returnPlaces(block.items);
  if (!places.empty()) {
    std::vector<mlir::Value> results =
        checkResults(sema, values, places, signature, instance.results, outputs);
    if (results.size() == signature.results.size()) {
      function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                               mlir::TypeRange(mlir::ValueRange(results))));
      buildReturn(sema, function, places.front(), std::move(results));
      instance.taps = sema.function.taps.list;
    }
  }
  sema.function.frames.pop_back();
  instance.function = function;
}

void buildInstance(Sema &sema, Instance &instance, const BlockDecl &block, const Owner &owner,
                   Scope &inside) {
  ScopedBlock scoped(sema, block.signature, owner, inside);
  instance.active = true;
  instance.wrong = true;
  declareBody(sema, block, owner, inside);
  llvm::SmallVector<mlir::Type> inputs, outputs;
  if (owner.inStack)
    inputs.push_back(sema.builder.getIndexType());
  if (readTypes(sema, instance, block, inputs, outputs)) {
    buildFunction(sema, instance, block, owner, inside, inputs, outputs);
    noteUnused(sema, inside);
    instance.wrong = false; // its type is known; what is wrong inside was said
  }
  instance.active = false;
}

} // namespace attn::frontend
