// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hooks of an attention: which are declared, what they are applied to, and their regions.
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/Formulas.h"
#include "compiler/frontend/sema/attention/HookTensors.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/syntax/ForeignWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;
using Kind = FormulaValue::Kind;

constexpr size_t deepestHooks = 64;
constexpr unsigned mostHooks = 2000;

static llvm::StringRef spelling(HookDecl::Hook hook) {
  return hook == HookDecl::Hook::Score ? "score" : hook == HookDecl::Hook::Bias ? "bias" : "mask";
}

llvm::StringRef Formula::what() const { return isSink ? "sink" : spelling(hook); }

std::string Formula::listNames() const {
  std::string text;
  for (const auto &[name, value] : names)
    if (!llvm::StringRef(name).ends_with(".row")) // `i` in most attentions
      text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

const HookDecl *hookOf(const Decl *decl, HookDecl::Hook hook) {
  auto *item = decl && decl->kind == Decl::Kind::Hook ? llvm::cast<HookDecl>(decl->item) : nullptr;
  return item && item->hook == hook ? item : nullptr;
}

std::vector<llvm::StringRef> knownHooks(HookDecl::Hook hook) {
  switch (hook) {
  case HookDecl::Hook::Score:
    return {"dot", "scaled_dot", "cosine"};
  case HookDecl::Hook::Bias:
    return {};
  case HookDecl::Hook::Mask:
    return {"causal", "window"};
  }
  llvm_unreachable("covered");
}

Diagnostic &unknownHook(Sema &sema, const PathExpr &path, HookDecl::Hook hook, const Decl *decl) {
  std::vector<llvm::StringRef> names = knownHooks(hook);
  llvm::StringRef what = spelling(hook);
  std::string name = path.path.str();
  Diagnostic &diagnostic = sema.report.error(DiagCode::UnknownScore, path.range,
                                             decl ? "`" + name + "` is no " + what
                                                  : "there is no " + what + " `" + name + "`");
  if (decl)
    diagnostic.at(decl->range, "declared here");
  for (Scope *s = sema.names.scope; s; s = s->parent)
    for (Decl *other : s->order)
      if (hookOf(other, hook))
        names.push_back(other->name);
  if (llvm::is_contained(names, name))
    return diagnostic.note("it hides the " + what + " of that name").help("call it otherwise");
  if (decl && (decl->kind == Decl::Kind::Param || decl->kind == Decl::Kind::Value))
    return diagnostic.help("read an element of it: `" + name + "[…]`");
  names.insert(names.end(), {"none", "true", "false"});
  auto near = nearestName(name, names);
  names.resize(names.size() - 3);
  if (near && (hook != HookDecl::Hook::Score || *near != "none"))
    diagnostic.didYouMean(*near);
  else if (hook == HookDecl::Hook::Score && advise(diagnostic, ForeignPlace::Score, name))
    return diagnostic;
  else if (!names.empty())
    diagnostic.note("the " + what + "s are " + llvm::join(names, ", "));
  else if (!decl)
    diagnostic.note("declare it: `" + what + " " + name + "(i, j) = …`");
  return diagnostic;
}

bool helpWithSmallLetter(Diagnostic &diagnostic, const Formula &formula, llvm::StringRef name) {
  std::string small = name.lower();
  const auto &names = formula.positions ? *formula.positions : formula.names;
  if (small == name || !names.count(small))
    return false;
  bool isNamed = formula.names.count(small);
  diagnostic.help("positions are written in small letters: `" + small + "`" +
                      (isNamed ? std::string()
                               : ", which stands among the names in the parentheses of the " +
                                     formula.what().str()),
                  isNamed ? std::optional(Edit{*diagnostic.range, small}) : std::nullopt);
  return true;
}

/// The mend of a hook that lacks a number, `alibi(H)`: a number of heads is that of this attention.
static Help callWithStatic(const Formula &line, const HookDecl &hook, const Static &lacking,
                           SourceRange place, bool isCall) {
  auto heads = line.names.find("h");
  bool areHeads = lacking.name.text == "heads" && heads != line.names.end() &&
                  heads->second.axis.size > 0 && !heads->second.axis.isDynamic();
  std::string value = areHeads ? axisLabel(heads->second.axis.name).str() : "4";
  bool isOnly = hook.statics.size() == 1;
  std::string call = hook.name.text + "(" + (isOnly ? "" : lacking.name.text + " = ") + value + ")";
  if (areHeads && !isCall)
    return {"write `" + call + "`", Edit{place, call}};
  return {"write `" + call + (areHeads ? "`" : "`, where 4 is your own number"), std::nullopt};
}

//===-- biases and masks --------------------------------------------------------------------===//

static bool bindStatics(Formula &line, const HookDecl &hook, const CallExpr *call,
                        SourceRange range, Formula &inside) {
  std::set<std::string> given;
  auto bind = [&](const Name &name, const Expr &value) {
    Formula numbers{line.sema, line.hook, line.builder, line.loc};
    for (const auto &[known, own] : line.names)
      if (own.kind == Kind::Number)
        numbers.names[known] = own;
    FormulaValue number = evalFormula(numbers, value);
    if (number.kind == Kind::Error)
      return false;
    if (number.kind != Kind::Number) {
      line.sema.report.error(DiagCode::NumberExpected, value.range,
                             "`" + name.text + "` is a number that is known when compiling");
      return false;
    }
    if (!given.insert(name.text).second) {
      line.sema.report.error(DiagCode::WrongArguments, value.range,
                             "`" + name.text + "` is given twice");
      return false;
    }
    inside.names[name.text] = number;
    return true;
  };
  size_t next = 0;
  for (const Argument &argument :
       call ? llvm::ArrayRef<Argument>(call->arguments) : llvm::ArrayRef<Argument>()) {
    const Static *found = nullptr;
    if (!argument.name)
      found = next < hook.statics.size() ? &hook.statics[next++] : nullptr;
    else
      for (const Static &item : hook.statics)
        if (item.name.text == argument.name->text)
          found = &item;
    if (!found) {
      line.sema.report
          .error(DiagCode::WrongArguments, argument.value->range,
                 "`" + hook.name.text + "` takes " + llvm::Twine(hook.statics.size()) +
                     (hook.statics.size() == 1 ? " number" : " numbers"))
          .at(hook.name.range, "declared here");
      return false;
    }
    if (!bind(found->name, *argument.value))
      return false;
  }
  for (const Static &item : hook.statics) {
    if (given.count(item.name.text))
      continue;
    if (!item.defaultValue) {
      line.sema.report
          .error(DiagCode::WrongArguments, range, "`" + item.name.text + "` is not given")
          .at(hook.name.range, "declared here")
          .helps.push_back(callWithStatic(line, hook, item, range, call));
      return false;
    }
    if (!bind(item.name, *item.defaultValue))
      return false;
  }
  return true;
}

FormulaValue applyDeclared(Formula &line, Decl &decl, const HookDecl &hook, const PathExpr &path,
                           const CallExpr *call) {
  decl.used = true;
  if (decl.wrong)
    return {};
  Formula inside = line.inner();
  for (const Name &name : hook.parameters) {
    auto position = line.names.find(name.text);
    if (position == line.names.end()) {
      const Decl *outer = line.regions->applying.empty() ? nullptr : line.regions->applying.back();
      Diagnostic &diagnostic = line.sema.report.error(
          DiagCode::HookParameters, path.range,
          "`" + hook.name.text + "` depends on `" + name.text + "`, which " +
              (outer ? "`" + outer->name + "` does not name" : "this attention does not have"));
      diagnostic.at(name.range, "declared here");
      std::string small = llvm::StringRef(name.text).lower();
      if (line.names.count(small))
        diagnostic.help("positions are written in small letters: declare `" + hook.name.text +
                        "` of `" + small + "`");
      if (outer)
        diagnostic.at(outer->range, "name `" + name.text + "` in its parentheses");
      else
        diagnostic.note("its positions are " + line.listNames());
      return {};
    }
    inside.names.insert(*position);
    for (const auto &[known, value] : line.names) // `i.row`, `i.y`
      if (llvm::StringRef(known).starts_with(name.text + "."))
        inside.names.insert({known, value});
  }
  SourceRange range = call ? call->range : path.range;
  llvm::SaveAndRestore place(line.sema.report.usedAt, line.sema.source.isUsed(range.begin)
                                                          ? line.sema.report.usedAt
                                                          : range);
  if (!bindStatics(line, hook, call, range, inside))
    return {};
  std::vector<const Decl *> &applying = line.regions->applying;
  if (llvm::is_contained(applying, &decl)) {
    line.sema.report
        .error(DiagCode::ScoreExpression, path.range, "`" + decl.name + "` is defined by itself")
        .at(decl.range, "declared here");
    return {};
  }
  if (line.regions->applications > mostHooks)
    return {}; // said
  if (applying.size() >= deepestHooks || ++line.regions->applications > mostHooks) {
    line.regions->applications = mostHooks + 1;
    line.sema.report.error(
        DiagCode::TooManyHooks, path.range,
        "this attention applies too many biases or masks, each named by another");
    return {};
  }
  if (applying.empty())
    line.regions->place = line.sema.names.scope;
  // What a hook of a used file names is of that file, its inputs are of the attention's place.
  Scope *home = decl.home ? decl.home : line.sema.names.scope;
  llvm::SaveAndRestore own(line.sema.names.scope, line.regions->place);
  if (!bindWith(inside, decl, hook, range))
    return {};
  line.sema.names.scope = home;
  applying.push_back(&decl);
  FormulaValue value = evalFormula(inside, *hook.body);
  applying.pop_back();
  return value;
}

/// The masks that need no declaration: causal, and window(left, right) with both ends included.
static std::optional<FormulaValue> applyKnownMask(Formula &line, const PathExpr &path,
                                                  const CallExpr *call) {
  std::string name = path.path.str();
  bool isWindow = name == "window";
  auto i = line.names.find("i"), j = line.names.find("j");
  if ((name != "causal" && !isWindow) || i == line.names.end() || j == line.names.end())
    return std::nullopt;
  size_t count = call ? call->arguments.size() : 0;
  if (count != (isWindow ? 2 : 0)) {
    std::string before =
        count == 1 ? line.sema.source.text(call->arguments[0].value->range).str() : "4096";
    SourceRange place = call ? call->range : path.range;
    std::string mend = isWindow ? "window(" + before + ", 0)" : "causal";
    line.sema.report
        .error(DiagCode::WrongArguments, place,
               isWindow ? "`window` takes two numbers" : "`causal` takes nothing")
        .help((isWindow ? "write how many keys before a query and behind it are seen: `"
                        : "write `") +
                  mend + "`",
              isWindow && count != 1 ? std::nullopt : std::optional(Edit{place, mend}));
    return FormulaValue{};
  }
  mlir::OpBuilder &builder = line.builder;
  mlir::Value query = i->second.value, key = j->second.value;
  auto atMost = [&](mlir::Value a, mlir::Value b) -> mlir::Value {
    return arith::CmpIOp::create(builder, line.loc, arith::CmpIPredicate::sle, a, b);
  };
  if (!isWindow)
    return FormulaValue{Kind::Truth, 0, atMost(key, query)};
  mlir::Value bounds[2];
  for (auto [bound, argument] : llvm::zip_equal(bounds, call->arguments)) {
    FormulaValue value = evalFormula(line, *argument.value);
    if (value.kind == Kind::Error)
      return value;
    if (!line.isWhole(value) || value.kind != Kind::Number || argument.name)
      return wrongFormula(line, argument.value->range,
                          "a window is as wide as a whole number says");
    bound = line.position(value);
  }
  mlir::Value first = arith::SubIOp::create(builder, line.loc, query, bounds[0]),
              last = arith::AddIOp::create(builder, line.loc, query, bounds[1]);
  return FormulaValue{
      Kind::Truth, 0,
      arith::AndIOp::create(builder, line.loc, atMost(first, key), atMost(key, last))};
}

std::optional<FormulaValue> applyHook(Formula &line, const PathExpr &path, const CallExpr *call) {
  std::string name = path.path.str();
  Decl *decl = line.sema.names.scope->find(name);
  if (line.isSink || line.isScore())
    return std::nullopt;
  for (HookDecl::Hook kind : {line.hook, HookDecl::Hook::Mask}) // a bias may depend on a mask
    if (const HookDecl *hook = hookOf(decl, kind))
      return applyDeclared(line, *decl, *hook, path, call);
  if (!decl)
    if (auto known = applyKnownMask(line, path, call))
      return known;
  // Numbers and functions are no hooks; whatever else is named in a line should be one.
  bool isDim = decl && decl->kind == Decl::Kind::Dim;
  if (isDim || call || (!line.isLine && (!decl || decl->kind != Decl::Kind::Hook)))
    return std::nullopt;
  Diagnostic &diagnostic = unknownHook(line.sema, path, line.hook, decl);
  diagnostic.note("positions are " + line.listNames());
  helpWithSmallLetter(diagnostic, line, name);
  return FormulaValue{};
}

/// The position of a row among all that its cache holds.
static mlir::Value absolute(mlir::OpBuilder &inner, const AttentionRegions &regions,
                            const Axis &rows, mlir::Value row) {
  auto size = [&](const Axis &axis) {
    mlir::StringAttr name = inner.getStringAttr(axis.name);
    return createAxisSize(inner, regions.loc, axesTensor(inner.getF32Type(), {axis.size}, {name}),
                          0);
  };
  mlir::Value before = arith::SubIOp::create(inner, regions.loc, size(regions.key), size(rows));
  return arith::AddIOp::create(inner, inWords(regions.loc, "i"), before, row);
}

std::map<std::string, FormulaValue> positionsOf(Sema &sema, const AttentionRegions &regions,
                                                mlir::OpBuilder &inner) {
  mlir::Block *block = inner.getInsertionBlock();
  mlir::ValueRange positions = regions.positions(block);
  std::map<std::string, FormulaValue> names;
  auto at = [&](const Axis &axis, mlir::Value value) {
    return FormulaValue::position(value, {0, mostOf(sema, axis) - 1}, axis);
  };
  auto name = [&](const Axis &axis, mlir::Value value) {
    std::string label = axisLabel(axis.name).lower();
    if (llvm::all_of(label, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      names[label] = at(axis, value);
  };
  for (auto [axis, value] : llvm::zip(regions.queryAxes, positions))
    name(axis, value);
  if (regions.heads.size) { // h = g * (H/G) + r
    mlir::Value group = regions.positionAlong(block, regions.group.name),
                rest = regions.positionAlong(block, regions.rest.name),
                size = arith::ConstantIndexOp::create(inner, regions.loc, regions.rest.size);
    mlir::Value first = arith::MulIOp::create(inner, regions.loc, group, size);
    mlir::Location loc = inWords(regions.loc, axisLabel(regions.heads.name).lower());
    name(regions.heads, arith::AddIOp::create(inner, loc, first, rest));
  }
  for (auto [axis, value] : llvm::zip(regions.queryAxes, positions))
    if (axis.name == regions.rowAxis) {
      names["i.row"] = names["i"] = at(axis, value);
      if (isPushedAxis(sema.entry, regions.key)) // the rows are the last positions of all
        names["i"] = at(regions.key, absolute(inner, regions, axis, value));
    }
  if (positions.size() > regions.queryAxes.size())
    names["j.row"] = names["j"] = at(regions.key, positions.back());
  namePositionsAlong(sema, regions, inner, names);
  return names;
}

bool buildBias(Formula &line, const Expr &bias, mlir::Value score) {
  FormulaValue value = evalFormula(line, bias);
  if (value.kind == Kind::Error)
    return false;
  if (value.kind == Kind::Number && value.number == 0) { // there is none
    line.regions->drop(AttentionRegions::Bias);
    return true;
  }
  if (value.kind == Kind::Truth || value.kind == Kind::Vector) {
    wrongFormula(line, bias.range, "a bias is a number, but this is a truth value");
    return false;
  }
  YieldOp::create(line.builder, line.spoken(),
                  arith::AddFOp::create(line.builder, line.loc, score, line.scalar(value)));
  return true;
}

bool buildCap(Sema &sema, const Expr &cap, mlir::OpBuilder &inner, Location loc,
              mlir::Value score) {
  std::optional<double> bound = evalNumber(sema, cap, "a cap");
  if (!bound)
    return false;
  if (!(*bound > 0)) {
    sema.report.error(DiagCode::NumberExpected, cap.range, "a cap is larger than 0");
    return false;
  }
  mlir::Value part = arith::DivFOp::create(inner, loc, score, constantOf(inner, loc, *bound));
  mlir::Value soft = mlir::math::TanhOp::create(inner, loc, part);
  YieldOp::create(inner, inWords(loc, wordsOf(sema, cap)),
                  arith::MulFOp::create(inner, loc, soft, constantOf(inner, loc, *bound)));
  return true;
}

bool buildMask(Formula &line, const Expr &mask) {
  FormulaValue value = evalFormula(line, mask);
  if (value.kind == Kind::Error)
    return false;
  if (value.kind != Kind::Truth) {
    wrongFormula(line, mask.range, "a mask is a truth value, but this is a number");
    return false;
  }
  YieldOp::create(line.builder, line.spoken(), value.value);
  return true;
}

bool buildSink(Formula &line, const Expr &sink) {
  FormulaValue value = evalFormula(line, sink);
  if (value.kind == Kind::Error)
    return false;
  if (value.kind == Kind::Number && std::isinf(value.number) &&
      value.number < 0) { // weighs nothing
    line.regions->drop(AttentionRegions::Sink);
    return true;
  }
  if (value.kind == Kind::Truth || value.kind == Kind::Vector) {
    wrongFormula(line, sink.range, "a sink is a number, but this is none");
    return false;
  }
  YieldOp::create(line.builder, line.spoken(), line.scalar(value));
  return true;
}

void checkHook(Sema &sema, Decl &decl) {
  auto &hook = *llvm::cast<HookDecl>(decl.item);
  if (decl.wrong)
    return;
  // An attention that is thrown away with all that is built for it.
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  Location loc = locate(sema, decl.range);
  auto scratch = mlir::ModuleOp::create(loc);
  mlir::Block &outer = scratch.getBodyRegion().emplaceBlock();
  sema.builder.setInsertionPointToEnd(&outer);
  Axis row{"queries", 1009}, key{"keys", 1013}, feature{"features", 64};
  {
    AttentionRegions regions(loc, row, key, AlongAxes{{key}, {""}, key});
    regions.scratch = &outer;
    bool isScore = hook.hook == HookDecl::Hook::Score;
    mlir::OpBuilder inner(&sema.mlirContext);
    inner.setInsertionPointToEnd(
        &regions.add(isScore ? AttentionRegions::Score : AttentionRegions::Bias));
    Formula formula{sema, hook.hook, inner, loc, {}, &regions};
    mlir::Value position = regions.positions(inner.getInsertionBlock()).front();
    for (const Name &name : hook.parameters)
      formula.names[name.text] = FormulaValue::position(position, {}, row);
    if (isScore)
      for (const auto &[name, axis, side] : {std::tuple("q", row, FormulaValue::Side::Query),
                                             std::tuple("k", key, FormulaValue::Side::Key)})
        formula.names[name] = {
            Kind::Vector, 0,  outer.addArgument(tensorType(sema, {axis, feature}, decl.range), loc),
            side,         {}, feature};
    for (const Static &item : hook.statics)
      formula.names[item.name.text] = {Kind::Number, 2, {}};
    if (bindWith(formula, decl, hook, decl.range))
      evalFormula(formula, *hook.body);
  }
  scratch.erase();
}

} // namespace attn::frontend
