// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries: one public function for each.
#include "compiler/frontend/SemaImpl.h"

namespace attn::frontend {

using namespace ast;

bool Sema::checkEntryForm(const EntryDecl &entry) {
  const Signature &signature = entry.signature;
  if (entry.bodyKind == EntryDecl::Body::Specialisation)
    unsupported(entry.range, "an entry made from `forward`");
  else if (!signature.dims.empty())
    unsupported(signature.name.range, "an entry with dims of its own");
  else if (!signature.statics.empty())
    unsupported(signature.name.range, "an entry with compile-time arguments");
  else
    return true;
  return false;
}

void Sema::nameEntry(const EntryDecl &entry, mlir::func::FuncOp function) {
  const Signature &signature = entry.signature;
  function->setAttr("attn.entry", builder.getUnitAttr());
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    function.setArgAttr(i, "attn.name", builder.getStringAttr(signature.parameters[i].name.text));
  std::map<std::string, SourceRange> given;
  for (auto [i, result] : llvm::enumerate(signature.resultNames)) {
    std::string name = result ? result->text
                       : signature.resultNames.size() == 1
                           ? signature.name.text
                           : signature.name.text + "." + std::to_string(i);
    if (result)
      if (auto [first, isNew] = given.insert({name, result->range}); !isNew)
        error(DiagCode::DuplicateName, result->range, "`" + name + "` is declared twice")
            .at(first->second, "it is declared here already")
            .help("choose another name for one of them");
    function.setResultAttr(i, "attn.name", builder.getStringAttr(name));
  }
}

void Sema::buildEntry(const EntryDecl &entry) {
  const Signature &signature = entry.signature;
  if (entry.isForward || !checkEntryForm(entry))
    return;
  Scope inside;
  inside.parent = &modelScope;
  scope = &inside;
  context = signature.name.text;
  layer = nullptr;
  taps.clear();
  llvm::SmallVector<mlir::Type> inputs, outputs;
  std::vector<Axes> parameters, results;
  bool fine = true;
  for (const Parameter &parameter : signature.parameters)
    fine &= readType(parameter.type, parameters, inputs, "an input", TypePlace::Entry);
  for (const Type &type : signature.results)
    fine &= readType(type, results, outputs, "a result", TypePlace::Entry);
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    if (image && signature.parameters[i].name.text == "image")
      imageUsed = true;
  if (fine) {
    builder.setInsertionPointToEnd(module->getBody());
    auto function =
        mlir::func::FuncOp::create(builder, locate(signature.name.range, signature.name.text),
                                   signature.name.text, builder.getFunctionType(inputs, outputs));
    nameEntry(entry, function);
    mlir::Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const Parameter &parameter = signature.parameters[i];
      if (Decl *decl = declare(inside, Decl::Kind::Value, &entry, parameter.name.text,
                               parameter.name.range)) {
        mlir::Value value = block->getArgument(i);
        if (llvm::isa<mlir::FloatType>(elementOf(value)))
          value = convert(value, builder.getF32Type(), locate(parameter.name.range));
        decl->value = SemaValue::of(value);
        decl->isParameter = true;
      }
      if (image && parameter.name.text == "image")
        if (mlir::DictionaryAttr attr = imageAttr(entry, parameter, parameters[i]))
          function.setArgAttr(i, "attn.image", attr);
    }
    std::vector<SemaValue> values;
    std::vector<SourceRange> places;
    if (entry.bodyKind == EntryDecl::Body::Expression) {
      values.push_back(eval(*entry.value));
      places.push_back(entry.value->range);
    } else {
      values = buildBody(entry.items, entry.closingBrace, signature);
      places = returnPlaces(entry.items);
    }
    if (!places.empty()) {
      std::vector<mlir::Value> returned = checkResults(values, places, signature, results, outputs);
      if (returned.size() == signature.results.size())
        buildReturn(function, places.front(), std::move(returned));
    }
    noteUnused(inside);
  }
  scope = &modelScope;
}

} // namespace attn::frontend
