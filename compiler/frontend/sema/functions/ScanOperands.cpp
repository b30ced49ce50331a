// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a `scan`: its cell is found, then what stays the same in all steps, what is scanned,
// the first states and the lengths are evaluated.
#include "compiler/frontend/sema/functions/ScanOperands.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

namespace attn::frontend {

using namespace ast;

/// Whether `expr` is the word `zeros`, which nothing is called.
static bool isZeros(Sema &sema, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path && path->path.str() == "zeros" && !sema.names.scope->find("zeros");
}

static bool isParameter(const Signature &signature, llvm::StringRef name) {
  return llvm::any_of(signature.parameters,
                      [&](const Parameter &p) { return p.name.text == name; });
}

/// Finds the cell, and what it is given by name: tensors first, then what is known when compiling.
static bool findCell(Sema &sema, Scan &scan) {
  auto *call = llvm::dyn_cast<CallExpr>(scan.expr.cell.get());
  auto *path = llvm::dyn_cast<PathExpr>(call ? call->callee.get() : scan.expr.cell.get());
  Decl *decl = path ? sema.names.scope->find(path->path.str()) : nullptr;
  if (decl)
    decl->used = true;
  if (decl && decl->kind == Decl::Kind::Unsupported)
    return false;
  bool isPart = decl && decl->kind == Decl::Kind::Part;
  if (isPart) {
    std::optional<PartOf> of = partOf(sema, *decl);
    if (!of)
      return false;
    auto &item = *llvm::cast<PartDecl>(decl->item);
    scan.block = of->block, scan.owner = of->owner;
    scan.given = {item.dimArguments, item.arguments, of->declaredIn};
  } else if (decl && decl->kind == Decl::Kind::Block) {
    if (!checkOwnsNothing(sema.report, *decl, scan.expr.cell->range))
      return false;
    scan.block = decl, scan.given.scope = sema.names.scope;
  }
  scan.cell = scan.block ? llvm::cast<BlockDecl>(scan.block->item) : nullptr;
  if (!scan.cell || !scan.cell->isCell) {
    if (!llvm::isa<ErrorExpr>(*scan.expr.cell)) {
      Diagnostic &diagnostic = sema.report.error(DiagCode::NotACell, scan.expr.cell->range,
                                                 "what is scanned must be a cell");
      if (decl)
        diagnostic.at(decl->range, "declared here");
      else if (path)
        suggest(sema, diagnostic, path->path.str());
      diagnostic.note("declare `cell GRU(x: [I], h: [U]) -> h { … }`, and a `part` of it where it "
                      "has parameters of its own");
    }
    return false;
  }
  size_t tensors = 0;
  for (; call && tensors < call->arguments.size(); ++tensors) {
    const Argument &argument = call->arguments[tensors];
    if (!argument.name || argument.by || !isParameter(scan.signature(), argument.name->text))
      break;
    scan.named.push_back({argument.name->text, argument.value.get()});
  }
  if (!call || tensors == call->arguments.size())
    return true;
  const Argument &rest = call->arguments[tensors];
  if (!isPart && rest.name && !rest.by) {
    scan.given.statics = llvm::ArrayRef(call->arguments).drop_front(tensors);
    return true;
  }
  sema.report
      .error(DiagCode::WrongArguments, rest.value->range,
             "a cell that is scanned takes tensors by name, which stay the same in all steps")
      .note("what changes from step to step stands behind `over`; what is known when compiling "
            "is given where a part is declared");
  return false;
}

/// Reports that a scan gets another number of tensors than its cell takes.
static void countError(Sema &sema, const Scan &scan, SourceRange place, llvm::StringRef what,
                       size_t takes, size_t gets) {
  sema.report
      .error(DiagCode::ScanArguments, place,
             "`" + scan.signature().name.text + "` takes " + llvm::Twine(takes) + " " + what +
                 (takes == 1 ? "" : "s") + ", but gets " + llvm::Twine(gets))
      .at(scan.signature().range, "declared here");
}

/// Evaluates what stays the same in all steps, and says which parameters are inputs and states.
static bool readParameters(Sema &sema, Scan &scan) {
  const Signature &signature = scan.signature();
  scan.arguments.resize(signature.parameters.size());
  std::set<int> states;
  for (size_t i = 0; i < signature.results.size(); ++i)
    states.insert(signature.stateOf(i));
  bool fine = true;
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const Name &name = signature.parameters[i].name;
    auto isNamed = [&](auto &named) { return named.first == name.text; };
    auto named = llvm::find_if(scan.named, isNamed);
    if (states.count(static_cast<int>(i))) {
      scan.states.push_back(i);
      if (named != scan.named.end()) {
        sema.report
            .error(DiagCode::ScanArguments, named->second->range,
                   "`" + name.text + "` is a state of `" + signature.name.text +
                       "`, which begins with what stands behind `from`")
            .at(name.range, "declared here");
        fine = false;
      }
    } else if (named != scan.named.end()) {
      mlir::Value value = evalTensor(sema, *named->second, "what a cell is given", true);
      scan.arguments[i] = value ? SemaValue::of(value) : SemaValue::wrong();
      fine &= static_cast<bool>(value);
    } else if (signature.parameters[i].type.isCache()) {
      sema.report
          .error(DiagCode::CacheExpected, signature.parameters[i].type.range,
                 "a cell that is scanned takes no cache")
          .note("a call pushes to a cache once, a scan applies its cell many times");
      fine = false;
    } else {
      scan.inputs.push_back(i);
    }
  }
  return fine;
}

/// The values of one expression, or of those in parentheses.
static std::vector<SemaValue> valuesIn(Sema &sema, const Expr &expr, size_t wanted) {
  if (!llvm::isa<TupleExpr>(expr) && wanted == 1)
    return {eval(sema, expr)};
  return evalSeveral(sema, expr);
}

/// Evaluates what is scanned, and finds the axis of the steps in it.
static bool readInputs(Sema &sema, Scan &scan) {
  std::vector<SemaValue> values = valuesIn(sema, *scan.expr.over, scan.inputs.size());
  if (llvm::any_of(values, [](const SemaValue &value) { return value.isError(); }))
    return false;
  if (values.size() != scan.inputs.size()) {
    countError(sema, scan, scan.expr.over->range, "input", scan.inputs.size(), values.size());
    return false;
  }
  for (const SemaValue &value : values) {
    if (!value.isTensor()) {
      sema.report.error(DiagCode::TensorExpected, scan.expr.over->range,
                        "what is scanned must be a tensor, but this is a number");
      return false;
    }
    Axes axes = axesOfValue(value.tensor);
    int at = findAxis(axes, scan.expr.along.text);
    bool isOther = at >= 0 && !scan.scanned.empty() && axes[at] != scan.along;
    if (at < 0 || isOther || axes.size() < 2) {
      std::string axis = "`" + scan.expr.along.text + "`";
      sema.report
          .error(DiagCode::MissingAxis, scan.expr.along.range,
                 at < 0    ? "what is scanned has no axis " + axis
                 : isOther ? "the axes " + axis + " of what is scanned differ"
                           : "what is scanned has no axis beside " + axis)
          .at(scan.expr.over->range, "this is " + showTensor(value.tensor));
      return false;
    }
    scan.along = axes[at];
    scan.scanned.push_back(value.tensor);
  }
  return true;
}

/// Evaluates the states that the first step gets.
static bool readInitial(Sema &sema, Scan &scan) {
  const Expr *from = scan.expr.from.get();
  auto *tuple = llvm::dyn_cast_if_present<TupleExpr>(from);
  std::vector<SemaValue> values;
  if (!from || isZeros(sema, *from))
    values.assign(scan.states.size(), SemaValue::zeros());
  else if (tuple)
    for (const ExprPtr &element : tuple->elements)
      values.push_back(isZeros(sema, *element) ? SemaValue::zeros() : eval(sema, *element));
  else
    values = valuesIn(sema, *from, scan.states.size());
  if (llvm::any_of(values, [](const SemaValue &value) { return value.isError(); }))
    return false;
  if (values.size() != scan.states.size()) {
    countError(sema, scan, from->range, "state", scan.states.size(), values.size());
    return false;
  }
  for (auto [state, value] : llvm::zip_equal(scan.states, values))
    scan.arguments[state] = value;
  return true;
}

static bool readLengths(Sema &sema, Scan &scan) {
  if (!scan.expr.lengths)
    return true;
  const Expr &expr = *scan.expr.lengths;
  scan.lengths = evalTensor(sema, expr, "lengths", /*anyElement=*/true);
  if (!scan.lengths)
    return false;
  Axes axes = axesOfValue(scan.scanned.front());
  bool fits = elementOf(scan.lengths).isInteger(32) &&
              llvm::all_of(axesOfValue(scan.lengths), [&](const Axis &axis) {
                int at = findAxis(axes, axis.name);
                return axis != scan.along && at >= 0 && axes[at] == axis;
              });
  if (!fits)
    sema.report
        .error(DiagCode::ScanArguments, expr.range,
               "lengths must be integers, one for each row of what is scanned")
        .says("this is " + showTensor(scan.lengths))
        .at(scan.expr.over->range, "this is " + showTensor(scan.scanned.front()))
        .help("declare `lengths: i32[B]`");
  return fits;
}

bool readScan(Sema &sema, Scan &scan) {
  return findCell(sema, scan) && readParameters(sema, scan) && readInputs(sema, scan) &&
         readInitial(sema, scan) && readLengths(sema, scan);
}

} // namespace attn::frontend
