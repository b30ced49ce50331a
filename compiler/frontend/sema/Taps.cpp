// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named intermediates, where they are asked for (FrontendOptions::taps): the tensors that a body's
// `let`s name become further results of its function, behind those that it declares. What a called
// block gives beside its own results, its caller gives too, under a longer name; so that each can
// have a name of its own, the layers of a stack are calls one after the other, not a loop. In an
// entry such results carry `attn.tap`: for all stages after this they are outputs like others.
#include "compiler/frontend/sema/SemaImpl.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::frontend {

using namespace ast;

void Sema::addTap(const llvm::Twine &name, mlir::Value value) {
  std::string wanted = name.str(), unique = wanted;
  unsigned &count = taps.counts[wanted];
  for (; !taps.names.insert(unique).second; unique = wanted + "." + std::to_string(count))
    ++count;
  taps.list.push_back({unique, value});
}

void Sema::tapPattern(const Pattern &pattern) {
  for (const Pattern &element : pattern.elements)
    tapPattern(element);
  auto found = scope->names.find(pattern.name.text);
  if (found == scope->names.end() || !found->second->value.isTensor())
    return;
  found->second->used = true;
  addTap(pattern.name.text, found->second->value.tensor);
}

void Sema::tapLet(const LetStmt &let) {
  if (options.taps)
    for (const Pattern &pattern : let.patterns)
      tapPattern(pattern);
}

void Sema::tapCall(const Instance &instance, mlir::func::CallOp call, const llvm::Twine &name) {
  if (!spend(instance.taps.size(), {}))
    return;
  for (size_t i = 0; i < instance.taps.size(); ++i)
    addTap(name + "." + instance.taps[i], call.getResult(instance.results.size() + i));
}

mlir::Value Sema::tapLayers(const Instance &instance, llvm::ArrayRef<mlir::Value> operands,
                            int64_t layers, llvm::StringRef name, mlir::Location loc) {
  mlir::Value carried = operands.front();
  for (int64_t n = 0; n < layers && spend(1, {}); ++n) {
    llvm::SmallVector<mlir::Value> passed{mlir::arith::ConstantIndexOp::create(builder, loc, n),
                                          carried};
    llvm::append_range(passed, operands.drop_front());
    auto call = mlir::func::CallOp::create(builder, loc, instance.function, passed);
    tapCall(instance, call, name + "." + llvm::Twine(n));
    carried = call.getResult(0);
  }
  return carried;
}

void Sema::buildReturn(mlir::func::FuncOp function, SourceRange place,
                       std::vector<mlir::Value> results) {
  bool isEntry = function->hasAttr("attn.entry");
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  for (const auto &[name, value] : taps.list) {
    llvm::SmallVector<mlir::NamedAttribute> own;
    if (isEntry) {
      own.push_back(builder.getNamedAttr("attn.name", builder.getStringAttr(name)));
      own.push_back(builder.getNamedAttr("attn.tap", builder.getUnitAttr()));
    }
    attributes.push_back(builder.getDictionaryAttr(own));
    types.push_back(value.getType());
    results.push_back(value);
  }
  // All at once: each insertion makes a new type of the function.
  llvm::SmallVector<unsigned> places(types.size(), function.getNumResults());
  (void)function.insertResults(places, types, attributes);
  mlir::func::ReturnOp::create(builder, locate(place, "return"), results);
}

} // namespace attn::frontend
