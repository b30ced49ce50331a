// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR locations to LLVM's debug information: each function gets a subprogram, each op the line and
// column of the spec that it came from and, as a discriminator, the term of an attention.
#include "compiler/codegen/DebugLines.h"

#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;
using namespace attn;

namespace {

class DebugLines {
public:
  DebugLines(Operation *module, bool areForDebuggers)
      : module(module), context(module->getContext()),
        kind(areForDebuggers ? LLVM::DIEmissionKind::LineTablesOnly
                             : LLVM::DIEmissionKind::DebugDirectivesOnly) {}

  void add() {
    for (auto function : module->getRegion(0).getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal())
        add(function);
  }

private:
  LLVM::DIFileAttr fileOf(FileLineColLoc place) {
    return LLVM::DIFileAttr::get(context, place ? place.getFilename().getValue() : "", "");
  }
  LLVM::DICompileUnitAttr unitOf(LLVM::DIFileAttr file);
  void add(LLVM::LLVMFuncOp function);

  Operation *module;
  MLIRContext *context;
  LLVM::DIEmissionKind kind;
  LLVM::DICompileUnitAttr unit;
};

} // namespace

/// LLVM merges the places of a fused location into none.
static FileLineColLoc placeOf(Location loc) { return loc->findInstanceOf<FileLineColLoc>(); }

LLVM::DICompileUnitAttr DebugLines::unitOf(LLVM::DIFileAttr file) {
  if (!unit)
    unit = LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C, file,
        StringAttr::get(context, "attn"), /*isOptimized=*/true, kind);
  return unit;
}

void DebugLines::add(LLVM::LLVMFuncOp function) {
  FileLineColLoc own = placeOf(function.getLoc());
  LLVM::DIFileAttr file = fileOf(own);
  unsigned line = own ? own.getLine() : 0;
  auto subprogram = LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unitOf(file), file,
      function.getSymNameAttr(), function.getSymNameAttr(), file, line, line,
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      LLVM::DISubroutineTypeAttr::get(context, ArrayRef<LLVM::DITypeAttr>()),
      ArrayRef<LLVM::DINodeAttr>(), ArrayRef<LLVM::DINodeAttr>());
  auto placed = [&](Location loc, LLVM::DILocalScopeAttr scope) -> Location {
    return FusedLoc::get({loc}, scope, context);
  };
  Location inside = own ? Location(own) : FileLineColLoc::get(context, "", 0, 0);
  function.getBody().walk([&](Operation *op) {
    FileLineColLoc place = placeOf(op->getLoc());
    std::optional<AttentionTerm> term = termOf(op->getLoc());
    if (!place && !term)
      return op->setLoc(inside);
    // What was written in another file, the library for one, says so; what is computed for a term
    // of an attention, by its number.
    LLVM::DIFileAttr ownFile = place ? fileOf(place) : file;
    Location at = place ? Location(place) : inside;
    if (ownFile == file && !term)
      return op->setLoc(at);
    auto discriminator = term ? static_cast<unsigned>(*term) : 0;
    op->setLoc(placed(at, LLVM::DILexicalBlockFileAttr::get(subprogram, ownFile, discriminator)));
  });
  function->setLoc(placed(inside, subprogram));
}

void attn::addDebugLines(Operation *module, bool areForDebuggers) {
  DebugLines(module, areForDebuggers).add();
}
