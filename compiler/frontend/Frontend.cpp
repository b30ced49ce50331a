// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole walk: the file, its model, the module at the end.
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/UsedFiles.h"
#include "compiler/frontend/sema/checks/IndexBounds.h"
#include "compiler/frontend/sema/entries/Entries.h"
#include "compiler/frontend/sema/entries/Images.h"
#include "compiler/frontend/sema/entries/PartialEntries.h"
#include "compiler/frontend/sema/entries/Unfold.h"
#include "compiler/frontend/sema/functions/Windows.h"
#include "compiler/frontend/sema/parameters/LayersOf.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/syntax/Parser.h"
#include "dialect/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace attn::frontend {

using namespace ast;

static void checkFile(Sema &sema, const File &file) {
  for (const ItemPtr &item : file.items) {
    auto *decl = llvm::dyn_cast<ModelDecl>(item.get());
    if (!decl) {
      if (!llvm::isa<UseDecl>(*item))
        declareItem(sema, sema.names.library, *item);
      continue;
    }
    if (sema.names.model)
      sema.report.error(DiagCode::SeveralModels, decl->name.range, "a file describes one model")
          .at(sema.names.model->name.range, "it is this one")
          .help("write the other into a file of its own");
    else
      sema.names.model = decl;
  }
  if (!sema.names.model)
    sema.report.diagnostics.error(DiagCode::NoModel, SourceRange{}, "the file has no model")
        .help("write `model Name { … }`");
}

static mlir::OwningOpRef<mlir::ModuleOp> run(Sema &sema, const File &file) {
  sema.mlirContext.loadDialect<AttnDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                               mlir::arith::ArithDialect, mlir::math::MathDialect>();
  if (!declareUses(sema, file))
    return nullptr;
  checkFile(sema, file);
  if (!sema.names.model)
    return nullptr;
  sema.output.module =
      mlir::ModuleOp::create(locate(sema, sema.names.model->keyword, sema.names.model->name.text));
  (*sema.output.module)
      ->setAttr(attributes::model, sema.builder.getStringAttr(sema.names.model->name.text));
  unsigned entries = 0;
  for (const ItemPtr &item : sema.names.model->items)
    if (auto *entry = llvm::dyn_cast<EntryDecl>(item.get())) {
      entries += !entry->isForward;
      sema.output.symbols.insert(entry->signature.name.text);
    }
  if (!entries)
    sema.report.error(DiagCode::NoEntry, sema.names.model->name.range, "the model has no entry")
        .help("write `entry name(x: [B, D]) -> [B, K] { … }`: what a program can call");
  declareModel(sema, *sema.names.model);
  checkImage(sema);
  buildEntries(sema);
  trimParts(sema);
  noteCaches(sema);
  checkUnapplied(sema);
  dropUnreturned(sema.output);
  boundIndices(sema);
  bindConvolutions(*sema.output.module);
  buildUnfolds(sema);
  declarePrecisions(sema, *sema.names.model);
  keepLayersThatRead(sema);
  if (sema.names.image && !sema.names.imageUsed)
    sema.report
        .error(DiagCode::ImageArgument, sema.names.image->keyword, "no entry takes the picture")
        .note("the parameter of an entry that may be given as a picture is called `image`");
  if (sema.names.sound && !sema.names.soundUsed)
    sema.report
        .error(DiagCode::SoundArgument, sema.names.sound->keyword, "no entry takes the sound")
        .note("the parameter of an entry that may be given as a sound is called `" +
              sema.names.sound->parameter() + "`");
  if (sema.report.diagnostics.hasErrors())
    return nullptr;
  noteUnused(sema, sema.names.modelScope);
  warnUnused(sema);
  std::string failure;
  mlir::ScopedDiagnosticHandler handler(&sema.mlirContext, [&](mlir::Diagnostic &diagnostic) {
    failure += (failure.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  if (mlir::failed(mlir::verify(*sema.output.module))) {
    sema.report.diagnostics
        .error(DiagCode::InternalError, "the compiler has built a wrong model: " + failure)
        .help("this is a defect of the compiler, not of the spec");
    return nullptr;
  }
  return std::move(sema.output.module);
}

mlir::OwningOpRef<mlir::ModuleOp> buildModel(SourceFile &source, const FrontendOptions &options,
                                             mlir::MLIRContext &context,
                                             DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = parse(source, diagnostics);
  // Names that did not parse would be missed everywhere: syntax first.
  if (diagnostics.hasErrors())
    return nullptr;
  Sema sema(source, options, context, diagnostics);
  mlir::OwningOpRef<mlir::ModuleOp> module = run(sema, *file);
  if (options.uses)
    *options.uses = std::move(sema.names.usedFiles);
  return module;
}

} // namespace attn::frontend
