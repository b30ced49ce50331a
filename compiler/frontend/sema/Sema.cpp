// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole walk: diagnostics and their bookkeeping, the file, the module at the end.
#include "compiler/frontend/sema/SemaImpl.h"
#include "compiler/frontend/syntax/Parser.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

namespace attn::frontend {

using namespace ast;

constexpr unsigned mostErrors = 100;

Decl *Scope::find(llvm::StringRef name) {
  Scope *model = nullptr;
  for (Scope *in = this; in; in = in->parent) {
    if (auto found = in->names.find(name); found != in->names.end())
      return found->second.get();
    model = in->model ? in->model : model;
  }
  if (!model)
    return nullptr;
  auto found = model->names.find(name);
  return found == model->names.end() ? nullptr : found->second.get();
}

Sema::Sema(SourceFile &source, const FrontendOptions &options, mlir::MLIRContext &context,
           DiagnosticEngine &diagnostics)
    : source(source), options(options), mlirContext(context), diagnostics(diagnostics),
      builder(&context), paramBuilder(&context) {
  library.parent = &used;
  modelScope.parent = &library;
  library.model = &modelScope;
  scope = &modelScope;
}

//===------------------------------------------------------------------------------------------===//
// Diagnostics
//===------------------------------------------------------------------------------------------===//

bool Sema::isFirst(DiagCode code, SourceRange range) {
  return reported.insert({static_cast<unsigned>(code), range.begin, range.end}).second;
}

Diagnostic &Sema::error(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (diagnostics.errorCount() >= mostErrors || isQuiet(code) || !isFirst(code, range))
    return unread = Diagnostic();
  if (diagnostics.errorCount() + 1 == mostErrors)
    return diagnostics.error(DiagCode::TooManyErrors, range,
                             llvm::Twine(mostErrors - 1) +
                                 " errors; the rest of the file is not checked");
  if (usedAt && source.isUsed(range.begin))
    return diagnostics.error(code, *usedAt, message).at(range, "here");
  return diagnostics.error(code, range, message);
}

void Sema::recordType(SourceRange range, const SemaValue &value) {
  if (!options.types || value.isError() || unapplied || source.isUsed(range.begin))
    return;
  options.types->push_back({range, value.isTensor() ? showTensor(value.tensor)
                                                    : llvm::formatv("{0}", value.number).str()});
}

bool Sema::isQuiet(DiagCode code) const {
  if (!unapplied)
    return false;
  // What is said of sizes may be wrong where they were made up.
  switch (code) {
  case DiagCode::UnknownName:
  case DiagCode::DuplicateName:
  case DiagCode::UnknownDim:
  case DiagCode::NotAFunction:
  case DiagCode::NotAValue:
  case DiagCode::UnknownDtype:
  case DiagCode::NotSupported:
  case DiagCode::MissingReturn:
  case DiagCode::AfterReturn:
  case DiagCode::ResultCount:
  case DiagCode::WrongArguments:
  case DiagCode::MalformedPattern:
  case DiagCode::UnknownScore:
  case DiagCode::ScoreExpression:
  case DiagCode::DuplicateHook:
  case DiagCode::UnknownWeight:
  case DiagCode::UnknownReturned:
  case DiagCode::SeveralValues:
    return false;
  default:
    return true;
  }
}

Diagnostic &Sema::warning(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (isFirst(code, range))
    return diagnostics.warning(code, range, message);
  return unread = Diagnostic();
}

void Sema::unsupported(SourceRange range, const llvm::Twine &what, const llvm::Twine &meanwhile) {
  Diagnostic &diagnostic = error(DiagCode::NotSupported, range, what + " is not supported yet");
  if (std::string help = meanwhile.str(); !help.empty())
    diagnostic.help(help);
}

void Sema::suggest(Diagnostic &diagnostic, llvm::StringRef name,
                   llvm::function_ref<bool(const Decl &)> filter) {
  if (&diagnostic == &unread)
    return;
  std::vector<llvm::StringRef> names;
  for (Scope *s = scope; s; s = s->parent)
    for (Decl *decl : s->order)
      if (!filter || filter(*decl))
        names.push_back(decl->name);
  if (std::optional<llvm::StringRef> near = nearestName(name, names)) {
    diagnostic.help("did you mean `" + *near + "`?");
    if (Decl *decl = scope->find(*near))
      diagnostic.at(decl->range, "`" + *near + "` is declared here");
  }
}

void Sema::noteUnused(Scope &in) {
  for (Decl *decl : in.order) {
    llvm::StringRef what;
    switch (decl->kind) {
    case Decl::Kind::Dim:
      what = "dim";
      break;
    case Decl::Kind::Linear:
    case Decl::Kind::Embedding:
    case Decl::Kind::Norm:
    case Decl::Kind::Param:
      what = "parameter";
      break;
    case Decl::Kind::Table:
      what = "table";
      break;
    case Decl::Kind::Stack:
      what = "stack";
      break;
    case Decl::Kind::Part:
      what = "part";
      break;
    case Decl::Kind::Block:
      what = "block";
      break;
    case Decl::Kind::Hook:
      what = "hook";
      break;
    case Decl::Kind::Cache:
      what = "cache";
      break;
    case Decl::Kind::Value:
      what = "value";
      break;
    default:
      continue;
    }
    if (decl->isParameter || source.isUsed(decl->range.begin))
      continue;
    bool hasTensor = what == "parameter";
    // A block may be built several times; what one of them uses is used. Of several values that one
    // `let` names, one has to be: the others have their names for who taps them.
    SourceRange place = decl->range;
    if (auto *let = llvm::dyn_cast_or_null<LetStmt>(decl->item); let && let->patterns.size() > 1)
      place = let->patterns.front().range;
    auto [it, first] =
        usages.insert({{place.begin, place.end}, {what.str(), decl->name, hasTensor, decl->used}});
    it->second.used |= decl->used;
  }
}

void Sema::warnUnused() {
  constexpr unsigned most = 100;
  unsigned count = 0;
  for (const auto &[place, usage] : usages) {
    if (usage.used || ++count > most)
      continue;
    Diagnostic &diagnostic = warning(DiagCode::UnusedName, {place.first, place.second},
                                     "the " + usage.what + " `" + usage.name + "` is never used");
    if (usage.isParameter)
      diagnostic.note("its tensor must still be in the checkpoint; `ignore` names tensors that are "
                      "left out");
    if (count == most)
      diagnostic.note("more names that are never used are not shown");
  }
}

void Sema::headerHere() {
  if (lastHeader)
    paramBuilder.setInsertionPointAfter(lastHeader);
  else
    paramBuilder.setInsertionPointToStart(module->getBody());
}

std::string Sema::uniqueSymbol(llvm::StringRef name) {
  std::string symbol = name.str();
  for (unsigned i = 1; !symbols.insert(symbol).second; ++i)
    symbol = (name + "." + llvm::Twine(i)).str();
  return symbol;
}

void Sema::checkFile(const File &file) {
  for (const ItemPtr &item : file.items) {
    auto *decl = llvm::dyn_cast<ModelDecl>(item.get());
    if (!decl) {
      if (!llvm::isa<UseDecl>(*item))
        declareItem(library, *item);
      continue;
    }
    if (model)
      error(DiagCode::SeveralModels, decl->name.range, "a file describes one model")
          .at(model->name.range, "it is this one")
          .help("write the other into a file of its own");
    else
      model = decl;
  }
  if (!model)
    diagnostics.error(DiagCode::NoModel, SourceRange{}, "the file has no model")
        .help("write `model Name { … }`");
}

mlir::OwningOpRef<mlir::ModuleOp> Sema::run(const File &file) {
  mlirContext.loadDialect<AttnDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                          mlir::arith::ArithDialect, mlir::math::MathDialect>();
  if (!declareUses(file))
    return nullptr;
  checkFile(file);
  if (!model)
    return nullptr;
  module = mlir::ModuleOp::create(locate(model->keyword, model->name.text));
  (*module)->setAttr("attn.model", builder.getStringAttr(model->name.text));
  unsigned entries = 0;
  for (const ItemPtr &item : model->items)
    if (auto *entry = llvm::dyn_cast<EntryDecl>(item.get())) {
      entries += !entry->isForward;
      symbols.insert(entry->signature.name.text);
    }
  if (!entries)
    error(DiagCode::NoEntry, model->name.range, "the model has no entry")
        .help("write `entry name(x: [B, D]) -> [B, K] { … }`: what a program can call");
  declareModel(*model);
  checkImage();
  buildEntries();
  checkUnapplied();
  dropUnreturned();
  boundIndices();
  if (image && !imageUsed)
    error(DiagCode::ImageArgument, image->keyword, "no entry takes the picture")
        .note("the parameter of an entry that may be given as a picture is called `image`");
  if (diagnostics.hasErrors())
    return nullptr;
  noteUnused(modelScope);
  warnUnused();
  std::string failure;
  mlir::ScopedDiagnosticHandler handler(&mlirContext, [&](mlir::Diagnostic &diagnostic) {
    failure += (failure.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(*module))) {
    diagnostics.error(DiagCode::InternalError, "the compiler has built a wrong model: " + failure)
        .help("this is a defect of the compiler, not of the spec");
    return nullptr;
  }
  return std::move(module);
}

mlir::OwningOpRef<mlir::ModuleOp> buildModel(SourceFile &source, const FrontendOptions &options,
                                             mlir::MLIRContext &context,
                                             DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = parse(source, diagnostics);
  // Names that did not parse would be missed everywhere: syntax first.
  if (diagnostics.hasErrors())
    return nullptr;
  Sema sema(source, options, context, diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> module = sema.run(*file);
  if (options.uses)
    *options.uses = sema.takeUses();
  return module;
}

} // namespace attn::frontend
