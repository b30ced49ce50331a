// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies: `let`, `return` and what is returned.
#include "compiler/frontend/sema/blocks/Bodies.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

/// The values of a `let`, as many as its expression gives. `push`: what it pushes, if it does.
static std::vector<SemaValue> valuesOf(Sema &sema, const LetStmt &let, const CallExpr *push) {
  llvm::SaveAndRestore context(sema.statement.context, let.patterns[0].name.text);
  return push                       ? evalPush(sema, *push, *let.along)
         : let.patterns.size() == 1 ? std::vector{eval(sema, *let.value)}
                                    : evalSeveral(sema, *let.value);
}

/// The names that patterns consist of, in their order.
static std::vector<const Name *> namesIn(llvm::ArrayRef<Pattern> patterns) {
  std::vector<const Name *> names;
  for (const Pattern &pattern : patterns)
    if (pattern.isTuple())
      llvm::append_range(names, namesIn(pattern.elements));
    else
      names.push_back(&pattern.name);
  return names;
}

/// Whether parentheses are where a scan's values belong together: `let hs, (h, c) = scan …`.
static bool isOfScan(const LetStmt &let) {
  auto *scan = llvm::dyn_cast<ScanExpr>(let.value.get());
  return scan && let.patterns.size() == 2 &&
         llvm::none_of(let.patterns, [](const Pattern &pattern) {
           return llvm::any_of(pattern.elements, [](const Pattern &e) { return e.isTuple(); });
         });
}

static void buildLet(Sema &sema, const LetStmt &let) {
  auto *push = let.along && pushedTo(sema.names, *let.value) ? llvm::cast<CallExpr>(let.value.get())
                                                             : nullptr;
  bool hasTuples = llvm::any_of(let.patterns, [](const Pattern &p) { return p.isTuple(); });
  bool simple = (!let.along || push) && (!hasTuples || isOfScan(let));
  auto declareWrong = [&](const Pattern &pattern, auto &&self) -> void {
    for (const Pattern &element : pattern.elements)
      self(element, self);
    if (!pattern.name.text.empty())
      if (Decl *decl = declare(sema, *sema.names.scope, Decl::Kind::Value, &let, pattern.name.text,
                               pattern.name.range))
        decl->used = true;
  };
  if (!simple) {
    if (let.along)
      sema.report
          .error(DiagCode::CachePush, let.along->axis.range,
                 "what a `let` writes along an axis is pushed to a cache, but this is not")
          .help("write `let k, v = kv.push(k, v) along T as S`, where the entry takes `kv: cache`");
    else
      sema.report
          .error(DiagCode::SeveralValues, let.range,
                 "names in parentheses are those of a scan's values, but this is none")
          .help("write `let hs, (h, c) = scan …`, or the names with commas between them alone");
    for (const Pattern &pattern : let.patterns)
      declareWrong(pattern, declareWrong);
    return;
  }
  std::vector<SemaValue> values = valuesOf(sema, let, push);
  std::vector<const Name *> names = namesIn(let.patterns);
  if (values.size() != names.size()) {
    if (!values.front().isError())
      sema.report
          .error(DiagCode::SeveralValues, let.value->range,
                 "this gives " + llvm::Twine(values.size()) +
                     (values.size() == 1 ? " value" : " values") + ", but " +
                     llvm::Twine(names.size()) + " are named")
          .at(let.patterns.front().range.to(let.patterns.back().range), "here");
    values.assign(names.size(), SemaValue::wrong());
  }
  for (auto [name, value] : llvm::zip_equal(names, values)) {
    if (Decl *decl =
            declare(sema, *sema.names.scope, Decl::Kind::Value, &let, name->text, name->range)) {
      decl->value = value;
      recordType(sema, name->range, value);
      decl->used = value.isError(); // what uses it may be silent too
    }
  }
}

std::vector<SemaValue> buildBody(Sema &sema, const std::vector<ItemPtr> &items, SourceRange end,
                                 const Signature &signature) {
  std::vector<SemaValue> results;
  const ReturnStmt *returned = nullptr;
  llvm::SaveAndRestore named(sema.statement.namedLater, {});
  for (const ItemPtr &item : items)
    if (auto *let = llvm::dyn_cast<LetStmt>(item.get()))
      for (const Pattern &pattern : let->patterns)
        sema.statement.namedLater.insert({pattern.name.text, pattern.name.range});
  for (const ItemPtr &item : items) {
    auto *let = llvm::dyn_cast<LetStmt>(item.get());
    auto *ret = llvm::dyn_cast<ReturnStmt>(item.get());
    if (!let && !ret)
      continue;
    if (returned) {
      sema.report.error(DiagCode::AfterReturn, item->keyword, "nothing can stand after `return`")
          .at(returned->keyword, "the body ends here");
      continue;
    }
    if (let) {
      buildLet(sema, *let);
      tapLet(sema, *let);
      continue;
    }
    returned = ret;
    bool isOneOfScan = ret->values.size() == 1 && signature.results.size() == 1 &&
                       llvm::isa<ScanExpr>(*ret->values.front());
    if (ret->values.size() == 1 && !isOneOfScan)
      results = evalSeveral(sema, *ret->values.front());
    else
      for (const ExprPtr &value : ret->values)
        results.push_back(eval(sema, *value));
  }
  if (!returned)
    sema.report
        .error(DiagCode::MissingReturn, end,
               "the body of `" + signature.name.text + "` does not end with `return`")
        .at(signature.name.range, "declared here");
  return results;
}

/// Takes from `declared` the axes that the block being built does not speak of and a result of
/// `axes` does not have: it depends on none of the parameters that have them.
static void dropLifted(FunctionState &function, Axes &declared, llvm::ArrayRef<Axis> axes) {
  Instance *instance = function.frames.empty() ? nullptr : function.frames.back().instance;
  if (!instance)
    return;
  llvm::erase_if(declared, [&](const Axis &axis) {
    return findAxis(instance->everyLifted, axis.name) >= 0 && findAxis(axes, axis.name) < 0;
  });
}

std::vector<mlir::Value> checkResults(Sema &sema, llvm::ArrayRef<SemaValue> values,
                                      llvm::ArrayRef<SourceRange> places,
                                      const Signature &signature,
                                      llvm::MutableArrayRef<Axes> declared,
                                      llvm::ArrayRef<mlir::Type> types) {
  std::vector<mlir::Value> results;
  auto place = [&](size_t i) { return places[std::min(i, places.size() - 1)]; };
  if (values.size() != signature.results.size()) {
    if (llvm::any_of(values, [](const SemaValue &value) { return value.isError(); }))
      return {};
    sema.report
        .error(DiagCode::ResultCount, places.front().to(places.back()),
               "`" + signature.name.text + "` returns " + llvm::Twine(values.size()) +
                   " values, but declares " + llvm::Twine(signature.results.size()))
        .at(signature.range, "declared here");
    return {};
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isNumber())
      sema.report.error(DiagCode::TensorExpected, place(i),
                        "the result must be a tensor, but this is a number");
    if (!values[i].isTensor() || i >= declared.size())
      continue;
    Axes axes = axesOfValue(values[i].tensor);
    dropLifted(sema.function, declared[i], axes);
    bool same = axes.size() == declared[i].size();
    mlir::Value result = same
                             ? withLast(sema, values[i].tensor, declared[i], locate(sema, place(i)))
                             : mlir::Value();
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(types[i]).getElementType();
    if (result && elementOf(result) != element)
      result = convert(sema, result, element, locate(sema, place(i)));
    if (!result) {
      Diagnostic &diagnostic = sema.report.error(
          DiagCode::ResultAxes, place(i),
          "`" + signature.name.text + "` returns " + showTensor(values[i].tensor) +
              ", but its type is " + sema.source.text(signature.resultType(i).range));
      diagnostic.at(signature.resultType(i).range, "declared here");
      noteSameNames(diagnostic, axes, declared[i]);
      Axes all = axes;
      llvm::append_range(all, declared[i]);
      if (std::string where = whereSizes(sema, all); !where.empty())
        diagnostic.note(where);
      continue;
    }
    results.push_back(result);
  }
  return results.size() == values.size() ? results : std::vector<mlir::Value>();
}

std::vector<SourceRange> returnPlaces(const std::vector<ItemPtr> &items) {
  std::vector<SourceRange> places;
  for (const ItemPtr &item : items)
    if (auto *ret = llvm::dyn_cast<ReturnStmt>(item.get())) {
      for (const ExprPtr &value : ret->values)
        places.push_back(value->range);
      break;
    }
  return places;
}

} // namespace attn::frontend
