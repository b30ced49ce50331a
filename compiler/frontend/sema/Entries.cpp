// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries: one public function for each. An entry has its own parameters and body, or takes those
// of `forward`, with sizes for its dims.
#include "compiler/frontend/sema/SemaImpl.h"

namespace attn::frontend {

using namespace ast;

void Sema::buildEntries() {
  for (Decl *decl : std::vector<Decl *>(modelScope.order))
    if (auto *entry = llvm::dyn_cast_or_null<EntryDecl>(decl->item);
        entry && decl->kind == Decl::Kind::Entry && !entry->isForward)
      buildEntry(*entry);
}

const EntryDecl *Sema::entryTemplate(const EntryDecl &entry) {
  const EntryDecl *body = &entry;
  if (entry.bodyKind == EntryDecl::Body::Specialisation) {
    body = forward;
    if (!body) {
      error(DiagCode::EntryDim, entry.range, "the model has no `forward` to make this entry from")
          .help("declare what all such entries compute: `forward[T](ids: i32[B, T], kv: cache) -> "
                "[B, T, V] = …`");
      return nullptr;
    }
    modelScope.find("forward")->used = true;
  }
  if (!body->signature.statics.empty()) {
    unsupported(body->signature.name.range, "an entry with compile-time arguments");
    return nullptr;
  }
  return body;
}

/// The dims in brackets: given by the entry, or known when running, at most the cache's capacity.
bool Sema::bindEntryDims(const EntryDecl &entry, const Signature &signature, Scope &inside) {
  bool fine = true;
  std::map<std::string, const DimArgument *> given;
  for (const DimArgument &argument : entry.specialised) {
    bool isKnown = llvm::any_of(signature.dims,
                                [&](const Name &dim) { return dim.text == argument.name.text; });
    if (!isKnown || !given.insert({argument.name.text, &argument}).second) {
      error(DiagCode::EntryDim, argument.name.range,
            isKnown ? "`" + argument.name.text + "` is given twice"
                    : "`forward` has no dim `" + argument.name.text + "`")
          .at(signature.range, "declared here")
          .note("what is given are dims in the brackets of `forward`");
      fine = false;
    }
  }
  if (entryCache && signature.dims.size() != 1) {
    error(DiagCode::EntryDim, signature.name.range,
          "an entry with a cache has one dim of its own: the positions that it adds")
        .help("write `" + signature.name.text + "[T](…)`, where T is their axis");
    return false;
  }
  for (const Name &dim : signature.dims) {
    if (modelScope.names.count(dim.text)) {
      error(DiagCode::DuplicateName, dim.range, "`" + dim.text + "` is declared twice")
          .at(modelScope.find(dim.text)->range, "it is declared here already")
          .help("choose another name for one of them");
      fine = false;
      continue;
    }
    Decl *decl = declare(inside, Decl::Kind::Dim, &entry, dim.text, dim.range);
    if (!decl)
      continue;
    decl->state = Decl::State::Done;
    decl->isParameter = true;
    decl->isNew = entryCache;
    decl->size = Size::wrong();
    if (auto it = given.find(dim.text); it != given.end()) {
      decl->size = evalSize(*it->second->value);
      if (!decl->size.error && (!decl->size.isStatic() || decl->size.offset < 1)) {
        error(DiagCode::SizeNotPositive, it->second->value->range,
              "`" + dim.text + "` must be a size of at least 1 that is known when compiling");
        decl->size = Size::wrong();
      } else if (entryCache && !decl->size.error && decl->size.offset > entryCache->size.offset) {
        error(DiagCode::EntryDim, it->second->value->range,
              "a call adds " + llvm::Twine(decl->size.offset) + " positions to `" +
                  entryCache->name + "`, which holds " + llvm::Twine(entryCache->size.offset))
            .at(entryCache->range, "declared here");
        decl->size = Size::wrong();
      }
    } else if (!entryCache) {
      error(DiagCode::EntryDim, dim.range,
            "`" + dim.text + "` has no bound, and no cache whose capacity would be one")
          .help("declare it in the model: `dyn " + dim.text + " <= 1024`");
    } else {
      decl->size = {dim.text, 1, 0};
      int64_t bound = entryCache->size.offset;
      if (auto [it, isFirst] = entryDims.insert({dim.text, bound}); isFirst)
        emitDim(*decl, bound, /*isDynamic=*/true);
    }
    fine &= !decl->size.error;
  }
  return fine;
}

/// Reads the types of parameters and results into `entryParameters` and `entryResults`.
bool Sema::readSignature(const EntryDecl &entry, const Signature &signature, Scope &inside) {
  bool fine = checkLength(signature) && findEntryCache(signature) &&
              bindEntryDims(entry, signature, inside);
  entryInputs.clear(), entryOutputs.clear(), entryParameters.clear(), entryResults.clear();
  if (!fine)
    return false;
  for (const Parameter &parameter : signature.parameters)
    if (!parameter.type.isCache())
      fine &= readType(parameter.type, entryParameters, entryInputs, "an input", TypePlace::Entry);
  for (const Type &type : signature.results)
    fine &= readType(type, entryResults, entryOutputs, "a result", TypePlace::Entry);
  if (!fine || !entry.last)
    return fine;
  for (auto [axes, type, place] : llvm::zip_equal(entryResults, entryOutputs, signature.results)) {
    int at = findAxis(axes, entry.last->text);
    if (at < 0 || axes.size() < 2) {
      error(DiagCode::EntryDim, entry.last->range,
            "there is no last of `" + entry.last->text + "` in " + showAxes(axes))
          .at(place.range, "declared here");
      return false;
    }
    axes.erase(axes.begin() + at);
    type = tensorType(axes, place.range, llvm::cast<mlir::RankedTensorType>(type).getElementType());
  }
  return true;
}

/// What an entry `forward last T` returns of what `forward` does.
std::vector<SemaValue> Sema::takeLast(const EntryDecl &entry, std::vector<SemaValue> values) {
  for (SemaValue &value : values) {
    if (!entry.last || !value.isTensor())
      continue;
    int at = findAxis(axesOfValue(value.tensor), entry.last->text);
    if (at < 0) // said where the result is compared with its type
      continue;
    value = takeEnd(value.tensor, at, /*isLast=*/true, entry.last->range);
  }
  return values;
}

void Sema::nameEntry(const EntryDecl &entry, const Signature &signature,
                     mlir::func::FuncOp function) {
  const std::string &own = entry.signature.name.text;
  function->setAttr("attn.entry", builder.getUnitAttr());
  unsigned input = 0;
  for (const Parameter &parameter : signature.parameters)
    if (!parameter.type.isCache())
      function.setArgAttr(input++, "attn.name", builder.getStringAttr(parameter.name.text));
  std::map<std::string, SourceRange> given;
  for (auto [i, result] : llvm::enumerate(signature.resultNames)) {
    std::string name = result                              ? result->text
                       : signature.resultNames.size() == 1 ? own
                                                           : own + "." + std::to_string(i);
    if (result)
      if (auto [first, isNew] = given.insert({name, result->range}); !isNew)
        error(DiagCode::DuplicateName, result->range, "`" + name + "` is declared twice")
            .at(first->second, "it is declared here already")
            .help("choose another name for one of them");
    function.setResultAttr(i, "attn.name", builder.getStringAttr(name));
  }
  if (!entryCache)
    return;
  Axis rows = axisOfSize("", scope->find(signature.dims.front().text)->size);
  function->setAttr("attn.cache", mlir::FlatSymbolRefAttr::get(&mlirContext, entryCache->name));
  function->setAttr(
      "attn.rows", builder.getStringAttr(rows.isDynamic() ? rows.name : std::to_string(rows.size)));
}

void Sema::buildEntryBody(const EntryDecl &entry, const EntryDecl &body, Scope &inside) {
  const Signature &signature = body.signature;
  builder.setInsertionPointToEnd(module->getBody());
  auto function = mlir::func::FuncOp::create(
      builder, locate(entry.signature.name.range, entry.signature.name.text),
      entry.signature.name.text, builder.getFunctionType(entryInputs, entryOutputs));
  nameEntry(entry, signature, function);
  frames = {{function, nullptr, &inside}};
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  unsigned next = 0;
  for (const Parameter &parameter : signature.parameters) {
    unsigned input = next;
    Decl *decl =
        declare(inside, Decl::Kind::Value, &body, parameter.name.text, parameter.name.range);
    if (decl)
      decl->isParameter = true;
    if (parameter.type.isCache()) {
      if (decl)
        decl->value = SemaValue::of(entryCache);
      continue;
    }
    ++next;
    if (decl) {
      mlir::Value value = block->getArgument(input);
      if (llvm::isa<mlir::FloatType>(elementOf(value)))
        value = convert(value, builder.getF32Type(), locate(parameter.name.range));
      decl->value = SemaValue::of(value);
    }
    if (image && parameter.name.text == "image")
      if (mlir::DictionaryAttr attr = imageAttr(body, parameter, entryParameters[input]))
        function.setArgAttr(input, "attn.image", attr);
  }
  std::vector<SemaValue> values;
  std::vector<SourceRange> places;
  if (body.bodyKind == EntryDecl::Body::Expression) {
    values.push_back(eval(*body.value));
    places.push_back(body.value->range);
  } else {
    values = buildBody(body.items, body.closingBrace, signature);
    places = returnPlaces(body.items);
  }
  if (!places.empty()) {
    std::vector<mlir::Value> returned = checkResults(takeLast(entry, std::move(values)), places,
                                                     signature, entryResults, entryOutputs);
    if (returned.size() == signature.results.size())
      buildReturn(function, places.front(), std::move(returned));
  }
  checkOperations(function, entry.signature.name.range);
  checkPushes(function, entry.signature.name.range);
}

void Sema::buildEntry(const EntryDecl &entry) {
  const EntryDecl *body = entryTemplate(entry);
  if (!body)
    return;
  Scope inside;
  inside.parent = &modelScope;
  inside.number = ++bodies;
  scope = &inside;
  context = entry.signature.name.text;
  layer = nullptr;
  taps = {};
  for (const Parameter &parameter : body->signature.parameters)
    imageUsed |= image && parameter.name.text == "image";
  if (readSignature(entry, body->signature, inside)) {
    buildEntryBody(entry, *body, inside);
    noteUnused(inside);
  }
  entryCache = nullptr;
  scope = &modelScope;
}

} // namespace attn::frontend
