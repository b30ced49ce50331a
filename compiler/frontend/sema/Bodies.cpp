// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies: `let`, `return` and what is returned.
#include "compiler/frontend/sema/SemaImpl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::frontend {

using namespace ast;

void Sema::buildLet(const LetStmt &let) {
  auto *push = let.along && pushedTo(*let.value) ? llvm::cast<CallExpr>(let.value.get()) : nullptr;
  bool simple = (!let.along || push) && llvm::none_of(let.patterns, [](const Pattern &pattern) {
                  return pattern.isTuple();
                });
  auto declareWrong = [&](const Pattern &pattern, auto &&self) -> void {
    for (const Pattern &element : pattern.elements)
      self(element, self);
    if (!pattern.name.text.empty())
      if (Decl *decl =
              declare(*scope, Decl::Kind::Value, &let, pattern.name.text, pattern.name.range))
        decl->used = true;
  };
  if (!simple) {
    unsupported(let.range,
                let.along ? "a `let` along an axis" : "a `let` of values in parentheses");
    for (const Pattern &pattern : let.patterns)
      declareWrong(pattern, declareWrong);
    return;
  }
  std::string outer = std::exchange(context, let.patterns[0].name.text);
  std::vector<SemaValue> values = push                       ? evalPush(*push, *let.along)
                                  : let.patterns.size() == 1 ? std::vector{eval(*let.value)}
                                                             : evalSeveral(*let.value);
  context = outer;
  if (values.size() != let.patterns.size()) {
    if (!values.front().isError())
      error(DiagCode::SeveralValues, let.value->range,
            "this gives " + llvm::Twine(values.size()) +
                (values.size() == 1 ? " value" : " values") + ", but " +
                llvm::Twine(let.patterns.size()) + " are named")
          .at(let.patterns.front().range.to(let.patterns.back().range), "here");
    values.assign(let.patterns.size(), SemaValue::wrong());
  }
  for (auto [pattern, value] : llvm::zip_equal(let.patterns, values)) {
    const Name &name = pattern.name;
    if (Decl *decl = declare(*scope, Decl::Kind::Value, &let, name.text, name.range)) {
      decl->value = value;
      recordType(name.range, value);
      decl->used = value.isError(); // what uses it may be silent too
    }
  }
}

std::vector<SemaValue> Sema::buildBody(const std::vector<ItemPtr> &items, SourceRange end,
                                       const Signature &signature) {
  std::vector<SemaValue> results;
  const ReturnStmt *returned = nullptr;
  std::map<std::string, SourceRange> outer = std::exchange(namedLater, {});
  for (const ItemPtr &item : items)
    if (auto *let = llvm::dyn_cast<LetStmt>(item.get()))
      for (const Pattern &pattern : let->patterns)
        namedLater.insert({pattern.name.text, pattern.name.range});
  for (const ItemPtr &item : items) {
    auto *let = llvm::dyn_cast<LetStmt>(item.get());
    auto *ret = llvm::dyn_cast<ReturnStmt>(item.get());
    if (!let && !ret)
      continue;
    if (returned) {
      error(DiagCode::AfterReturn, item->keyword, "nothing can stand after `return`")
          .at(returned->keyword, "the body ends here");
      continue;
    }
    if (let) {
      buildLet(*let);
      tapLet(*let);
      continue;
    }
    returned = ret;
    if (ret->values.size() == 1)
      results = evalSeveral(*ret->values.front());
    else
      for (const ExprPtr &value : ret->values)
        results.push_back(eval(*value));
  }
  namedLater = std::move(outer);
  if (!returned)
    error(DiagCode::MissingReturn, end,
          "the body of `" + signature.name.text + "` does not end with `return`")
        .at(signature.name.range, "declared here");
  return results;
}

void Sema::dropLifted(Axes &declared, llvm::ArrayRef<Axis> axes) {
  Instance *instance = frames.empty() ? nullptr : frames.back().instance;
  if (!instance)
    return;
  llvm::erase_if(declared, [&](const Axis &axis) {
    return findAxis(instance->everyLifted, axis.name) >= 0 && findAxis(axes, axis.name) < 0;
  });
}

std::vector<mlir::Value> Sema::checkResults(llvm::ArrayRef<SemaValue> values,
                                            llvm::ArrayRef<SourceRange> places,
                                            const Signature &signature,
                                            llvm::MutableArrayRef<Axes> declared,
                                            llvm::ArrayRef<mlir::Type> types) {
  std::vector<mlir::Value> results;
  auto place = [&](size_t i) { return places[std::min(i, places.size() - 1)]; };
  if (values.size() != signature.results.size()) {
    if (llvm::any_of(values, [](const SemaValue &value) { return value.isError(); }))
      return {};
    error(DiagCode::ResultCount, places.front().to(places.back()),
          "`" + signature.name.text + "` returns " + llvm::Twine(values.size()) +
              " values, but declares " + llvm::Twine(signature.results.size()))
        .at(signature.range, "declared here");
    return {};
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isNumber())
      error(DiagCode::TensorExpected, place(i),
            "the result must be a tensor, but this is a number");
    if (!values[i].isTensor() || i >= declared.size())
      continue;
    Axes axes = axesOfValue(values[i].tensor);
    dropLifted(declared[i], axes);
    bool same = axes.size() == declared[i].size();
    mlir::Value result =
        same ? withLast(values[i].tensor, declared[i], locate(place(i))) : mlir::Value();
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(types[i]).getElementType();
    if (result && elementOf(result) != element)
      result = convert(result, element, locate(place(i)));
    if (!result) {
      Diagnostic &diagnostic =
          error(DiagCode::ResultAxes, place(i),
                "`" + signature.name.text + "` returns " + showTensor(values[i].tensor) +
                    ", but its type is " + source.text(signature.results[i].range));
      diagnostic.at(signature.results[i].range, "declared here");
      noteSameNames(diagnostic, axes, declared[i]);
      Axes all = axes;
      llvm::append_range(all, declared[i]);
      if (std::string where = whereSizes(all); !where.empty())
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
