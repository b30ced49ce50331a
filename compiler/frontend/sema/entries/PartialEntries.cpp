// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that do a part of what `forward` says: `without source`, `only memory`. They are built
// like others, but what they do not fill in is read (Caches.cpp), and nothing needs what would have
// been filled in: ops, arguments of blocks, and at last the inputs that the entry lacks are
// dropped.
#include "compiler/frontend/sema/entries/PartialEntries.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/checks/Trim.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::frontend {

using namespace ast;
using mlir::func::CallOp;
using mlir::func::FuncOp;

/// The input of a function with a name; -1 where there is none.
static int inputCalled(FuncOp function, llvm::StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto own = function.getArgAttrOfType<mlir::StringAttr>(i, attributes::name))
      if (own.getValue() == name)
        return static_cast<int>(i);
  return -1;
}

bool checkPart(Sema &sema, const EntryDecl &entry, const Signature &forward) {
  bool fine = true;
  for (const auto *list : {&entry.without, &entry.only}) {
    bool isCache = list == &entry.only;
    std::set<std::string> given;
    for (const Name &name : *list) {
      bool isKnown = llvm::any_of(forward.parameters, [&](const Parameter &parameter) {
        return parameter.name.text == name.text && parameter.type.isCache() == isCache;
      });
      if (isKnown && given.insert(name.text).second)
        continue;
      std::string what = isCache ? "cache" : "input";
      sema.report
          .error(DiagCode::EntryPart, name.range,
                 isKnown ? "`" + name.text + "` is named twice"
                         : "`forward` takes no " + what + " `" + name.text + "`")
          .at(forward.range, "declared here");
      fine = false;
    }
  }
  return fine;
}

/// What inputs are needed for, in a function or in what it calls: where what depends on them meets
/// what does not. Null where there is no such place.
static mlir::Operation *findNeed(mlir::ModuleOp module, FuncOp function,
                                 const llvm::BitVector &inputs) {
  llvm::DenseSet<mlir::Value> dependent;
  for (unsigned input : inputs.set_bits())
    dependent.insert(function.getArgument(input));
  mlir::Operation *place = nullptr;
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    bool depends = false, isAlone = true;
    for (mlir::Value operand : op->getOperands()) {
      depends |= dependent.contains(operand);
      bool isConstant = !llvm::isa<mlir::TensorType>(operand.getType()) ||
                        llvm::isa_and_present<GetOp, TableOp>(operand.getDefiningOp());
      isAlone &= dependent.contains(operand) || isConstant;
    }
    if (!depends)
      return mlir::WalkResult::advance();
    for (mlir::Region &region : op->getRegions())
      for (mlir::BlockArgument argument : region.getArguments())
        dependent.insert(argument);
    for (mlir::Value result : op->getResults())
      dependent.insert(result);
    if (isAlone && !llvm::isa<mlir::func::ReturnOp>(op))
      return mlir::WalkResult::advance();
    auto call = llvm::dyn_cast<CallOp>(op);
    auto callee = call ? module.lookupSymbol<FuncOp>(call.getCallee()) : FuncOp();
    if (callee) {
      llvm::BitVector own(callee.getNumArguments());
      for (mlir::OpOperand &operand : op->getOpOperands())
        if (dependent.contains(operand.get()))
          own.set(operand.getOperandNumber());
      place = findNeed(module, callee, own);
    }
    if (!place && !op->getNumRegions())
      place = op;
    return place ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return place;
}

/// Reports an input that an entry lacks and needs.
static void reportNeed(Sema &sema, const BuiltEntry &built, const Name &name, unsigned input) {
  FuncOp function = built.function;
  llvm::BitVector inputs(function.getNumArguments());
  inputs.set(input);
  mlir::Operation *place = findNeed(*sema.output.module, function, inputs);
  auto loc = place ? place->getLoc()->findInstanceOf<mlir::FileLineColLoc>() : nullptr;
  std::optional<uint32_t> offset =
      loc ? sema.source.offsetOf(loc.getFilename(), {loc.getLine(), loc.getColumn()})
          : std::nullopt;
  Diagnostic &diagnostic = sema.report.error(DiagCode::EntryPart, name.range,
                                             "the entry needs `" + name.text + "`, which it lacks");
  if (offset)
    diagnostic.at({*offset, *offset + 1}, "this needs it");
  diagnostic.note("an entry without an input has what depends on that only in what caches are "
                  "filled with: `cache.once(k, v)`");
}

/// Drops the inputs that an entry lacks.
static void dropInputs(Sema &sema, const BuiltEntry &built, const llvm::BitVector &hadUses) {
  FuncOp function = built.function;
  llvm::BitVector dropped(function.getNumArguments());
  for (const Name &name : built.entry->without) {
    int input = inputCalled(function, name.text);
    if (input < 0)
      continue;
    dropped.set(input);
    if (!function.getArgument(input).use_empty())
      reportNeed(sema, built, name, input);
  }
  for (mlir::BlockArgument argument : function.getArguments()) {
    unsigned input = argument.getArgNumber();
    if (!argument.use_empty() || dropped.test(input))
      continue;
    if (!built.entry->only.empty()) {
      dropped.set(input);
    } else if (hadUses.test(input)) {
      auto name = function.getArgAttrOfType<mlir::StringAttr>(input, attributes::name).getValue();
      sema.report
          .error(DiagCode::EntryPart, built.entry->without.front().range,
                 "an entry without `" + built.entry->without.front().text + "` does not need `" +
                     name + "`, either")
          .note("caches are filled in an entry that has all that they are filled with")
          .help("write `without " + built.entry->without.front().text + ", " + name + "`",
                Edit{{built.entry->without.back().range.end, built.entry->without.back().range.end},
                     (", " + name).str()});
    }
  }
  if (!sema.report.diagnostics.hasErrors())
    (void)function.eraseArguments(dropped);
}

void trimParts(Sema &sema) {
  if (sema.report.diagnostics.hasErrors())
    return;
  llvm::SmallVector<FuncOp> functions;
  std::vector<std::pair<const BuiltEntry *, llvm::BitVector>> parts;
  for (const BuiltEntry &built : sema.entry.built) {
    FuncOp function = built.function;
    if (built.entry->without.empty() && built.entry->only.empty())
      continue;
    functions.push_back(function);
    llvm::BitVector hasUses(function.getNumArguments());
    for (mlir::BlockArgument argument : function.getArguments())
      if (!argument.use_empty())
        hasUses.set(argument.getArgNumber());
    parts.push_back({&built, hasUses});
  }
  trim(*sema.output.module, functions);
  for (const auto &[built, hadUses] : parts)
    dropInputs(sema, *built, hadUses);
}

} // namespace attn::frontend
