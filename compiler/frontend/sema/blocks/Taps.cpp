// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named intermediates, where they are asked for (FrontendOptions::taps): the tensors that a body's
// `let`s name become further results of its function, behind those that it declares. What a called
// block gives beside its own results, its caller gives too, under a longer name; so that each can
// have a name of its own, the layers of a stack are calls one after the other, not a loop. In an
// entry such results carry `attn.tap`, the place: for all stages after this they are outputs like
// others.
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "dialect/Attributes.h"
#include "dialect/Locations.h"

namespace attn::frontend {

using namespace ast;

static void addTap(FunctionState &function, const llvm::Twine &name, mlir::Value value,
                   mlir::Location place) {
  std::string wanted = name.str(), unique = wanted;
  unsigned &count = function.taps.counts[wanted];
  for (; !function.taps.names.insert(unique).second; unique = wanted + "." + std::to_string(count))
    ++count;
  function.taps.list.push_back({unique, value, place});
}

static void tapPattern(Sema &sema, const Pattern &pattern) {
  for (const Pattern &element : pattern.elements)
    tapPattern(sema, element);
  auto found = sema.names.scope->names.find(pattern.name.text);
  if (found == sema.names.scope->names.end() || !found->second->value.isTensor())
    return;
  found->second->used = true;
  mlir::Value tensor = found->second->value.tensor;
  addTap(sema.function, pattern.name.text, tensor, tensor.getLoc());
}

void tapLet(Sema &sema, const LetStmt &let) {
  if (sema.options.taps && !sema.entry.isPart())
    for (const Pattern &pattern : let.patterns)
      tapPattern(sema, pattern);
}

void tapCall(Sema &sema, const Instance &instance, mlir::func::CallOp call,
             const llvm::Twine &name) {
  if (!spend(sema, instance.taps.size(), {}))
    return;
  for (size_t i = 0; i < instance.taps.size(); ++i)
    addTap(sema.function, name + "." + instance.taps[i].name,
           call.getResult(instance.results.size() + i), instance.taps[i].place);
}

void buildReturn(Sema &sema, mlir::func::FuncOp function, SourceRange range,
                 std::vector<mlir::Value> results) {
  bool isEntry = function->hasAttr(attributes::entry);
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  for (const auto &[name, value, place] : sema.function.taps.list) {
    llvm::SmallVector<mlir::NamedAttribute> own;
    if (isEntry) {
      own.push_back(sema.builder.getNamedAttr(attributes::name, sema.builder.getStringAttr(name)));
      own.push_back(
          sema.builder.getNamedAttr(attributes::tap, sema.builder.getStringAttr(placeText(place))));
    }
    attributes.push_back(sema.builder.getDictionaryAttr(own));
    types.push_back(value.getType());
    results.push_back(value);
  }
  // All at once: each insertion makes a new type of the function.
  llvm::SmallVector<unsigned> places(types.size(), function.getNumResults());
  (void)function.insertResults(places, types, attributes);
  mlir::func::ReturnOp::create(sema.builder, locate(sema, range, "return"), results);
}

} // namespace attn::frontend
