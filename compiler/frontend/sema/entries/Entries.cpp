// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries: one public function for each. An entry has its own parameters and body, or takes those
// of `forward`, with sizes for its dims.
#include "compiler/frontend/sema/entries/Entries.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Bodies.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/entries/Images.h"
#include "compiler/frontend/sema/entries/PartialEntries.h"
#include "compiler/frontend/sema/entries/Sounds.h"
#include "compiler/frontend/sema/entries/States.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Attributes.h"

namespace attn::frontend {

using namespace ast;

void buildEntries(Sema &sema) {
  readStates(sema);
  for (Decl *decl : std::vector<Decl *>(sema.names.modelScope.order))
    if (auto *entry = llvm::dyn_cast_or_null<EntryDecl>(decl->item);
        entry && decl->kind == Decl::Kind::Entry && !entry->isForward &&
        entry->bodyKind != EntryDecl::Body::Unfold)
      buildEntry(sema, *entry);
  checkStates(sema);
}

/// `entry`, or the `forward` that it is made from; null after an error.
static const EntryDecl *entryTemplate(Sema &sema, const EntryDecl &entry) {
  const EntryDecl *body = &entry;
  if (entry.bodyKind == EntryDecl::Body::Specialisation) {
    body = sema.names.forward;
    if (!body) {
      sema.report
          .error(DiagCode::EntryDim, entry.range,
                 "the model has no `forward` to make this entry from")
          .help("declare what all such entries compute: `forward[T](ids: i32[B, T], kv: cache) -> "
                "[B, T, V] = …`");
      return nullptr;
    }
    sema.names.modelScope.find("forward")->used = true;
  }
  if (!body->signature.statics.empty()) {
    sema.report
        .error(DiagCode::EntryDim, body->signature.name.range,
               "an entry takes tensors and caches, and nothing that is known when compiling")
        .help("declare it in the model: `dim name = 3`");
    return nullptr;
  }
  return body;
}

/// The dims in brackets: given by the entry, or known when running, at most the cache's capacity.
static bool bindEntryDims(Sema &sema, const EntryDecl &entry, const Signature &signature,
                          Scope &inside) {
  bool fine = true;
  std::map<std::string, const DimArgument *> given;
  for (const DimArgument &argument : entry.specialised) {
    bool isKnown = llvm::any_of(signature.dims,
                                [&](const Name &dim) { return dim.text == argument.name.text; });
    if (!isKnown || !given.insert({argument.name.text, &argument}).second) {
      sema.report
          .error(DiagCode::EntryDim, argument.name.range,
                 isKnown ? "`" + argument.name.text + "` is given twice"
                         : "`forward` has no dim `" + argument.name.text + "`")
          .at(signature.range, "declared here")
          .note("what is given are dims in the brackets of `forward`");
      fine = false;
    }
  }
  if (sema.entry.counter && signature.dims.size() > 1) {
    sema.report
        .error(DiagCode::EntryDim, signature.name.range,
               "an entry with a cache has one dim of its own: the positions that it adds")
        .help("write `" + signature.name.text + "[T](…)`, where T is their axis");
    return false;
  }
  for (const Name &dim : signature.dims) {
    if (sema.names.modelScope.names.count(dim.text)) {
      sema.report.error(DiagCode::DuplicateName, dim.range, "`" + dim.text + "` is declared twice")
          .at(sema.names.modelScope.find(dim.text)->range, "it is declared here already")
          .help("choose another name for one of them");
      fine = false;
      continue;
    }
    Decl *decl = declare(sema, inside, Decl::Kind::Dim, &entry, dim.text, dim.range);
    if (!decl)
      continue;
    decl->state = Decl::State::Done;
    decl->isParameter = true;
    decl->isNew = sema.entry.counter;
    decl->size = Size::wrong();
    if (auto it = given.find(dim.text); it != given.end()) {
      decl->size = evalSize(sema, *it->second->value);
      if (!decl->size.error && (!decl->size.isStatic() || decl->size.offset < 1)) {
        sema.report.error(DiagCode::SizeNotPositive, it->second->value->range,
                          "`" + dim.text +
                              "` must be a size of at least 1 that is known when compiling");
        decl->size = Size::wrong();
      } else if (sema.entry.counter && !decl->size.error &&
                 decl->size.offset > sema.entry.counter->size.offset) {
        sema.report
            .error(DiagCode::EntryDim, it->second->value->range,
                   "a call adds " + llvm::Twine(decl->size.offset) + " positions to `" +
                       sema.entry.counter->name + "`, which holds " +
                       llvm::Twine(sema.entry.counter->size.offset))
            .at(sema.entry.counter->range, "declared here");
        decl->size = Size::wrong();
      }
    } else if (!sema.entry.counter) {
      sema.report
          .error(DiagCode::EntryDim, dim.range,
                 "`" + dim.text + "` has no bound, and no cache whose capacity would be one")
          .help("declare it in the model: `dyn " + dim.text + " <= 1024`");
    } else {
      decl->size = {dim.text, 1, 0};
      int64_t bound = sema.entry.counter->size.offset;
      if (auto [it, isFirst] = sema.sizes.entryDims.insert({dim.text, bound}); isFirst)
        emitDim(sema, *decl, bound, /*isDynamic=*/true);
    }
    fine &= !decl->size.error;
  }
  return fine;
}

/// Whether the rows of an entry `by B` can be by themselves: they are counted by a dim known when
/// running, and a call adds as many positions to each as it likes.
static bool checkRows(Sema &sema, const EntryDecl &entry, const Signature &signature) {
  if (!entry.rows)
    return true;
  auto error = [&](SourceRange place, const llvm::Twine &what) -> Diagnostic & {
    return sema.report.error(DiagCode::EntryDim, place, what);
  };
  Decl *decl = sema.names.modelScope.find(entry.rows->text);
  if (!decl || decl->kind != Decl::Kind::Dim || decl->size.isStatic()) {
    Diagnostic &diagnostic = error(
        entry.rows->range, "`" + entry.rows->text + "` is no dim that is known only when running");
    diagnostic.help("declare how many rows there are at most: `dyn " + entry.rows->text +
                    " <= 32`");
    return false;
  }
  decl->used = true;
  if (!sema.entry.counter || !entry.specialised.empty()) {
    error(entry.rows->range, "rows are by themselves where a call adds positions to a cache, as "
                             "many to each row as it likes")
        .at(signature.range, "declared here");
    return false;
  }
  for (const Parameter &parameter : signature.parameters)
    if (Decl *state = sema.names.modelScope.find(parameter.name.text);
        state && state->kind == Decl::Kind::State) {
      error(entry.rows->range, "rows with states are not supported yet")
          .at(parameter.name.range, "a state");
      return false;
    }
  return true;
}

/// Reads the types of parameters and results into `entryParameters` and `entryResults`.
static bool readSignature(Sema &sema, const EntryDecl &entry, const Signature &signature,
                          Scope &inside) {
  bool fine = checkLength(sema.report, signature) && findEntryCaches(sema, signature) &&
              checkRows(sema, entry, signature) && bindEntryDims(sema, entry, signature, inside);
  sema.entry.inputs.clear(), sema.entry.outputs.clear(), sema.entry.parameters.clear(),
      sema.entry.results.clear();
  if (!fine)
    return false;
  for (const Parameter &parameter : signature.parameters)
    if (!parameter.type.isCache())
      fine &= readType(sema, parameter.type, sema.entry.parameters, sema.entry.inputs, "an input",
                       TypePlace::Entry);
  for (const Type &type : signature.results)
    fine &=
        readType(sema, type, sema.entry.results, sema.entry.outputs, "a result", TypePlace::Entry);
  if (!fine || !entry.last)
    return fine;
  for (auto [axes, type, place, name] : llvm::zip_equal(sema.entry.results, sema.entry.outputs,
                                                        signature.results, signature.resultNames)) {
    int at = findAxis(axes, entry.last->text);
    Decl *state = name ? sema.names.modelScope.find(name->text) : nullptr;
    if (at < 0 && state && state->kind == Decl::Kind::State)
      continue;
    if (at < 0 || axes.size() < 2) {
      sema.report
          .error(DiagCode::EntryDim, entry.last->range,
                 "there is no last of `" + entry.last->text + "` in " + showAxes(axes))
          .at(place.range, "declared here");
      return false;
    }
    axes.erase(axes.begin() + at);
    type = tensorType(sema, axes, place.range,
                      llvm::cast<mlir::RankedTensorType>(type).getElementType());
  }
  return true;
}

/// What an entry `forward last T` returns of what `forward` does.
static std::vector<SemaValue> takeLast(Sema &sema, const EntryDecl &entry,
                                       std::vector<SemaValue> values) {
  for (SemaValue &value : values) {
    if (!entry.last || !value.isTensor())
      continue;
    int at = findAxis(axesOfValue(value.tensor), entry.last->text);
    if (at < 0) // said where the result is compared with its type
      continue;
    value = takeEnd(sema, value.tensor, at, /*isLast=*/true, entry.last->range);
  }
  return values;
}

static void nameEntry(Sema &sema, const EntryDecl &entry, const Signature &signature,
                      mlir::func::FuncOp function) {
  const std::string &own = entry.signature.name.text;
  function->setAttr(attributes::entry, sema.builder.getUnitAttr());
  if (entry.rows)
    function->setAttr(attributes::rows, sema.builder.getStringAttr(entry.rows->text));
  unsigned input = 0;
  for (const Parameter &parameter : signature.parameters)
    if (!parameter.type.isCache())
      function.setArgAttr(input++, attributes::name,
                          sema.builder.getStringAttr(parameter.name.text));
  if (!entry.only.empty()) // it gives nothing
    return;
  std::map<std::string, SourceRange> given;
  for (auto [i, result] : llvm::enumerate(signature.resultNames)) {
    std::string name = result                              ? result->text
                       : signature.resultNames.size() == 1 ? own
                                                           : own + "." + std::to_string(i);
    if (result)
      if (auto [first, isNew] = given.insert({name, result->range}); !isNew)
        sema.report
            .error(DiagCode::DuplicateName, result->range, "`" + name + "` is declared twice")
            .at(first->second, "it is declared here already")
            .help("choose another name for one of them");
    function.setResultAttr(i, attributes::name, sema.builder.getStringAttr(name));
  }
}

static void buildEntryBody(Sema &sema, const EntryDecl &entry, const EntryDecl &body, Scope &states,
                           Scope &inside) {
  const Signature &signature = body.signature;
  sema.builder.setInsertionPointToEnd(sema.output.module->getBody());
  auto function = mlir::func::FuncOp::create(
      sema.builder, locate(sema, entry.signature.name.range, entry.signature.name.text),
      entry.signature.name.text,
      sema.builder.getFunctionType(sema.entry.inputs, entry.only.empty()
                                                          ? mlir::TypeRange(sema.entry.outputs)
                                                          : mlir::TypeRange()));
  nameEntry(sema, entry, signature, function);
  sema.function.frames = {{function, nullptr, &inside}};
  mlir::Block *block = function.addEntryBlock();
  sema.builder.setInsertionPointToEnd(block);
  addStates(sema, function, states);
  unsigned next = 0;
  for (const Parameter &parameter : signature.parameters) {
    unsigned input = next;
    Decl *decl =
        declare(sema, inside, Decl::Kind::Value, &body, parameter.name.text, parameter.name.range);
    if (decl)
      decl->isParameter = true;
    if (parameter.type.isCache()) {
      if (decl)
        decl->value = SemaValue::of(sema.names.modelScope.find(parameter.name.text));
      continue;
    }
    ++next;
    if (decl) {
      mlir::Value value = block->getArgument(input);
      if (llvm::isa<mlir::FloatType>(elementOf(value)))
        value = convert(sema, value, sema.builder.getF32Type(), locate(sema, parameter.name.range));
      decl->value = SemaValue::of(value);
    }
    if (sema.names.image && parameter.name.text == "image")
      if (mlir::DictionaryAttr attr =
              imageAttr(sema, body, parameter, sema.entry.parameters[input]))
        function.setArgAttr(input, attributes::image, attr);
    if (sema.names.sound && parameter.name.text == sema.names.sound->parameter())
      if (mlir::DictionaryAttr attr =
              soundAttr(sema, body, parameter, sema.entry.parameters[input]))
        function.setArgAttr(input, attributes::sound, attr);
  }
  std::vector<SemaValue> values;
  std::vector<SourceRange> places;
  if (body.bodyKind == EntryDecl::Body::Expression) {
    if (signature.results.size() == 1)
      values.push_back(eval(sema, *body.value));
    else
      values = evalSeveral(sema, *body.value);
    auto *tuple = llvm::dyn_cast<TupleExpr>(body.value.get());
    for (size_t i = 0; i < values.size(); ++i)
      places.push_back(tuple ? tuple->elements[i]->range : body.value->range);
  } else {
    values = buildBody(sema, body.items, body.closingBrace, signature);
    places = returnPlaces(body.items);
  }
  if (!places.empty()) {
    std::vector<mlir::Value> returned =
        checkResults(sema, takeLast(sema, entry, std::move(values)), places, signature,
                     sema.entry.results, sema.entry.outputs);
    bool isWhole = returned.size() == signature.results.size();
    if (!entry.only.empty())
      returned.clear();
    if (isWhole)
      buildReturn(sema, function, places.front(), std::move(returned));
  }
  finishStates(sema, signature, function, states);
  checkOperations(sema, function, entry.signature.name.range);
  if (sema.report.unapplied)
    return;
  sema.entry.built.push_back({function, &entry, sema.entry.caches, sema.entry.counter, {}});
  if (sema.entry.counter)
    sema.entry.built.back().rows = axisOfSize("", inside.find(signature.dims.front().text)->size);
}

void buildEntry(Sema &sema, const EntryDecl &entry) {
  const EntryDecl *body = entryTemplate(sema, entry);
  if (!body)
    return;
  Scope states, inside;
  states.parent = &sema.names.modelScope;
  inside.parent = &states;
  inside.number = ++sema.function.bodies;
  sema.names.scope = &inside;
  sema.entry.entry = &entry;
  sema.entry.name = &body->signature.name;
  sema.statement.context = entry.signature.name.text;
  sema.function.layer = nullptr;
  sema.function.taps = {};
  for (const Parameter &parameter : body->signature.parameters) {
    sema.names.imageUsed |= sema.names.image && parameter.name.text == "image";
    sema.names.soundUsed |=
        sema.names.sound && parameter.name.text == sema.names.sound->parameter();
  }
  if (checkPart(sema, entry, body->signature) &&
      readSignature(sema, entry, body->signature, inside)) {
    buildEntryBody(sema, entry, *body, states, inside);
    noteUnused(sema, inside);
  }
  sema.entry.caches.clear(), sema.entry.counter = nullptr, sema.entry.entry = nullptr;
  sema.names.scope = &sema.names.modelScope;
}

} // namespace attn::frontend
