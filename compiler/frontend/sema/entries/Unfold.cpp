// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `unfold(first, step, limit = …)` -> attn.unfold. Tensors go from step to step by their names.
#include "compiler/frontend/sema/entries/Unfold.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"
#include "dialect/Settings.h"
#include "dialect/Unfold.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;

namespace {

/// One entry that generates, while it is built.
class UnfoldBuilder {
public:
  UnfoldBuilder(Sema &sema, const EntryDecl &entry, const CallExpr &call)
      : sema(sema), entry(entry), call(call) {}

  void build();

private:
  bool readArguments();
  /// The function of the entry that positional argument `number` names; null after an error.
  mlir::func::FuncOp entryNamed(size_t number);
  bool readArgument(const Argument &argument);
  bool readSetting(const GenerationSetting &setting, const Argument &argument);
  std::optional<double> readNumber(const GenerationSetting &setting, const Expr &expr);
  bool readTokens(const Expr &expr, llvm::SmallVectorImpl<int64_t> &tokens);
  bool readSequences(const Expr &expr, llvm::SmallVectorImpl<int64_t> &tokens);
  bool checkTokens();
  bool findToken();
  bool checkScores();
  bool checkPassedOn();
  bool checkStacked();
  bool checkCaches();
  bool checkBeams();
  /// The entry of `forward` by which many users share steps; null where `first` or `step` computes
  /// something else, or takes more than tokens, and where there are beams.
  mlir::FlatSymbolRefAttr sharedEntry();
  Diagnostic &error(const llvm::Twine &message, const Expr *place = nullptr) {
    return sema.report.error(DiagCode::Unfold, place ? place->range : call.range, message);
  }
  mlir::RankedTensorType inputType(mlir::func::FuncOp function, unsigned i) {
    return llvm::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
  }
  mlir::RankedTensorType outputType(mlir::func::FuncOp function, unsigned i) {
    return llvm::cast<mlir::RankedTensorType>(function.getResultTypes()[i]);
  }

  Sema &sema;
  const EntryDecl &entry;
  const CallExpr &call;
  mlir::func::FuncOp first, step;
  std::optional<double> limit, begin;
  std::string tokenName;
  int64_t token = -1, vocabulary = 0;
  /// How tokens are chosen, of what the entry says by names.
  std::map<llvm::StringRef, double> numbers;
  std::map<llvm::StringRef, llvm::SmallVector<int64_t>> lists;
};

/// What is no row of the table, but read as one.
constexpr GenerationSetting limitSetting{"limit", GenerationSetting::Kind::Whole, 1, INT32_MAX, 0,
                                         ""},
    beginSetting{"begin", GenerationSetting::Kind::Whole, 0, INT32_MAX, 0, ""};

} // namespace

mlir::func::FuncOp UnfoldBuilder::entryNamed(size_t number) {
  const Expr &expr = *call.arguments[number].value;
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  std::string name = path ? path->path.str() : "";
  Decl *decl = path ? sema.names.modelScope.find(name) : nullptr;
  auto function = sema.output.module->lookupSymbol<mlir::func::FuncOp>(name);
  if (decl && decl->kind == Decl::Kind::Entry && function)
    return function;
  Diagnostic &diagnostic =
      error(path ? "the model has no entry `" + name + "` with a body of its own"
                 : "`unfold` takes the names of two entries",
            &expr);
  if (path)
    suggest(sema, diagnostic, name, [](const Decl &d) { return d.kind == Decl::Kind::Entry; });
  return nullptr;
}

/// A token, or several in parentheses.
bool UnfoldBuilder::readTokens(const Expr &expr, llvm::SmallVectorImpl<int64_t> &tokens) {
  auto add = [&](const Expr &one) {
    Size size = evalSize(sema, one);
    tokens.push_back(size.offset);
    if (size.error || (size.isStatic() && size.offset >= 0))
      return !size.error;
    sema.report.error(DiagCode::UnfoldNumber, one.range, "a token is a number of at least 0");
    return false;
  };
  auto *tuple = llvm::dyn_cast<TupleExpr>(&expr);
  return tuple ? llvm::all_of(tuple->elements, [&](const ExprPtr &one) { return add(*one); })
               : add(expr);
}

/// Sequences of tokens, each with its length in front: a token alone is one, too, and `((1, 2))` is
/// one of two.
bool UnfoldBuilder::readSequences(const Expr &expr, llvm::SmallVectorImpl<int64_t> &tokens) {
  auto add = [&](const Expr &one) {
    size_t at = tokens.size();
    tokens.push_back(0);
    bool isRead = readTokens(one, tokens);
    tokens[at] = static_cast<int64_t>(tokens.size() - at - 1);
    return isRead;
  };
  auto *tuple = llvm::dyn_cast<TupleExpr>(&expr);
  return tuple && !tuple->parenthesised
             ? llvm::all_of(tuple->elements, [&](const ExprPtr &one) { return add(*one); })
             : add(expr);
}

/// A number in the range of a setting, or the place of its word; nothing after an error.
std::optional<double> UnfoldBuilder::readNumber(const GenerationSetting &setting,
                                                const Expr &expr) {
  std::string name = ("`" + setting.name + "`").str();
  if (setting.kind == GenerationSetting::Kind::Choice) {
    auto *path = llvm::dyn_cast<PathExpr>(&expr);
    llvm::SmallVector<llvm::StringRef> words;
    setting.words.split(words, ',');
    auto found = llvm::find(words, path ? path->path.str() : "");
    if (found != words.end())
      return double(found - words.begin());
    sema.report.error(DiagCode::UnfoldNumber, expr.range,
                      name + " is " + llvm::join(words, " or "));
    return std::nullopt;
  }
  std::optional<double> value = evalNumber(sema, expr, name);
  if (!value)
    return std::nullopt;
  bool isWhole = setting.kind == GenerationSetting::Kind::Whole;
  if (*value >= setting.least && *value <= setting.most &&
      (!isWhole || std::floor(*value) == *value))
    return value;
  sema.report.error(DiagCode::UnfoldNumber, expr.range,
                    name + " is " + (isWhole ? "a whole number" : "a number") + " from " +
                        llvm::Twine(int64_t(std::floor(setting.least))) + " to " +
                        llvm::Twine(int64_t(setting.most)));
  return std::nullopt;
}

bool UnfoldBuilder::readSetting(const GenerationSetting &setting, const Argument &argument) {
  if (setting.kind == GenerationSetting::Kind::Tokens)
    return readTokens(*argument.value, lists[setting.name]);
  if (setting.kind == GenerationSetting::Kind::Sequences)
    return readSequences(*argument.value, lists[setting.name]);
  std::optional<double> value = readNumber(setting, *argument.value);
  numbers[setting.name] = value.value_or(0);
  return value.has_value();
}

bool UnfoldBuilder::readArgument(const Argument &argument) {
  llvm::StringRef name = argument.name->text;
  if (name == "token") {
    auto *path = llvm::dyn_cast<PathExpr>(argument.value.get());
    tokenName = path ? path->path.str() : "?";
    return true;
  }
  if (name == "limit")
    return (limit = readNumber(limitSetting, *argument.value)).has_value();
  if (name == "begin")
    return (begin = readNumber(beginSetting, *argument.value)).has_value();
  std::vector<llvm::StringRef> names = {"limit", "begin", "token"};
  for (const GenerationSetting &setting : generationSettings()) {
    if (setting.name == name)
      return readSetting(setting, argument);
    names.push_back(setting.name);
  }
  Diagnostic &diagnostic = sema.report.error(DiagCode::WrongArguments, argument.name->range,
                                             "`unfold` takes no `" + name + "`");
  if (auto near = nearestName(name, names))
    diagnostic.didYouMean(*near);
  else
    diagnostic.note("by name it takes " + llvm::join(names, ", "));
  return false;
}

bool UnfoldBuilder::readArguments() {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  size_t positional =
      llvm::count_if(call.arguments, [](const Argument &argument) { return !argument.name; });
  bool isLast = llvm::any_of(llvm::drop_begin(call.arguments, std::min<size_t>(positional, 2)),
                             [](const Argument &argument) { return !argument.name; });
  if (!callee || callee->path.str() != "unfold" || positional != 2 || isLast) {
    error("an entry is unfolded of two others")
        .help("write `unfold(prefill, decode, limit = 256, stop = 2)`");
    return false;
  }
  std::set<std::string> given;
  for (const Argument &argument : llvm::drop_begin(call.arguments, 2)) {
    if (!given.insert(argument.name->text).second) {
      sema.report.error(DiagCode::WrongArguments, argument.name->range,
                        "`" + argument.name->text + "` is given twice");
      return false;
    }
    if (!readArgument(argument))
      return false;
  }
  if (!limit) {
    sema.report
        .error(DiagCode::UnfoldNumber, call.range, "nothing says how many tokens there are at most")
        .help("write `limit = 256`");
    return false;
  }
  first = entryNamed(0);
  step = first ? entryNamed(1) : nullptr;
  return step;
}

/// The input of the step that takes the tokens: the one that is named, or the only one of integers
/// that nothing else gives, or that the first entry does not take.
bool UnfoldBuilder::findToken() {
  UnfoldWiring wiring(first, step, /*token=*/-1, begin.has_value());
  llvm::SmallVector<llvm::StringRef> names, alone;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    mlir::Type element = inputType(step, i).getElementType();
    llvm::StringRef name = inputName(step, i);
    bool isFree = wiring.sources[i].first < 0 && wiring.sources[i].step < 0;
    bool isOne =
        tokenName.empty() ? element.isInteger(32) || element.isInteger(64) : name == tokenName;
    if (!isOne || !isFree)
      continue;
    names.push_back(name);
    bool isOfFirst = wiring.sources[i].input < static_cast<int32_t>(first.getNumArguments());
    if (!isOfFirst)
      alone.push_back(name);
    if (!isOfFirst || alone.empty())
      token = i;
  }
  // What `first` takes, too, is most likely given to all steps.
  if (names.size() == 1 || alone.size() == 1)
    return true;
  Diagnostic &diagnostic =
      error(names.empty() ? "`" + step.getSymName() + "` has no input that takes the tokens"
                          : "`" + step.getSymName() + "` has several inputs of integers",
            call.arguments[1].value.get());
  if (names.empty())
    diagnostic.help("it takes the tokens of the step before as integers: `token: i32[B]`");
  else
    diagnostic.help("say which takes the tokens: `token = " + names.front() + "`");
  return false;
}

bool UnfoldBuilder::checkScores() {
  auto readScores = [&](mlir::func::FuncOp function, size_t argument) -> mlir::RankedTensorType {
    auto type = function.getNumResults() ? outputType(function, 0) : mlir::RankedTensorType();
    if (type && type.getElementType().isF32() && !type.isDynamicDim(type.getRank() - 1))
      return type;
    Diagnostic &diagnostic =
        error("the first result of `" + function.getSymName() + "` is no score for each token",
              call.arguments[argument].value.get());
    diagnostic.note("it is f32, and its last axis, the tokens, has a size known when compiling");
    if (argument == 0)
      diagnostic.help("where it gives none, say with which token the steps begin: `begin = 1`");
    return nullptr;
  };
  mlir::RankedTensorType scores = readScores(step, 1);
  if (!scores)
    return false;
  vocabulary = scores.getShape().back();
  if (!begin) {
    mlir::RankedTensorType initial = readScores(first, 0);
    if (initial && initial != scores)
      error("`" + first.getSymName() + "` and `" + step.getSymName() + "` give other scores")
          .note("one gives " + showAxes(axesOfType(initial)) + ", the other " +
                showAxes(axesOfType(scores)));
    if (!initial || initial != scores)
      return false;
  }
  Axes rows = axesOfType(inputType(step, token)), own = axesOfType(scores);
  own.pop_back();
  auto many = [](Axes &axes) {
    llvm::erase_if(axes, [](const Axis &axis) { return axis.size == 1; });
  };
  many(rows), many(own);
  if (rows != own || rows.size() > 1) {
    error("the scores are " + showAxes(axesOfType(scores)) + ", but the tokens " +
              showAxes(axesOfType(inputType(step, token))),
          call.arguments[1].value.get())
        .note("there is a token for each row of scores, along one axis at most");
    return false;
  }
  auto below = step.getArgAttrOfType<mlir::IntegerAttr>(token, attributes::below);
  if (below && below.getInt() < vocabulary) {
    error("there are scores for " + llvm::Twine(vocabulary) + " tokens, but `" +
              inputName(step, token) + "` takes those below " + llvm::Twine(below.getInt()),
          call.arguments[1].value.get());
    return false;
  }
  return checkTokens();
}

/// There are scores for all tokens that are named.
bool UnfoldBuilder::checkTokens() {
  llvm::SmallVector<int64_t> named;
  if (begin)
    named.push_back(static_cast<int64_t>(*begin));
  for (const GenerationSetting &setting : generationSettings()) {
    auto found = lists.find(setting.name);
    if (found == lists.end())
      continue;
    llvm::ArrayRef<int64_t> tokens = found->second;
    if (setting.kind == GenerationSetting::Kind::Tokens)
      named.append(tokens.begin(), tokens.end());
    for (; setting.kind == GenerationSetting::Kind::Sequences && !tokens.empty();
         tokens = tokens.drop_front(1 + tokens.front()))
      named.append(tokens.begin() + 1, tokens.begin() + 1 + tokens.front());
  }
  for (int64_t one : named)
    if (one >= vocabulary) {
      sema.report.error(DiagCode::UnfoldNumber, call.range,
                        "there is no token " + llvm::Twine(one) + ": there are scores for " +
                            llvm::Twine(vocabulary));
      return false;
    }
  return true;
}

/// What one step gives the next is what that takes.
bool UnfoldBuilder::checkPassedOn() {
  UnfoldWiring wiring(first, step, token, begin.has_value());
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    const UnfoldSource &source = wiring.sources[i];
    mlir::RankedTensorType type = inputType(step, i);
    mlir::RankedTensorType before = source.first >= 0 ? outputType(first, source.first) : type;
    if (source.input >= 0 && source.input < static_cast<int32_t>(first.getNumArguments()))
      before = inputType(first, source.input);
    mlir::RankedTensorType later = source.step >= 0 ? outputType(step, source.step) : type;
    bool isFirst = before != type;
    if (!isFirst && later == type)
      continue;
    error("`" + step.getSymName() + "` takes `" + inputName(step, i) + "` as " +
              showAxes(axesOfType(type)) + ", but `" +
              (isFirst ? first.getSymName() : step.getSymName()) + "` " +
              (isFirst && source.first < 0 ? "takes " : "gives ") +
              showAxes(axesOfType(isFirst ? before : later)),
          call.arguments[1].value.get());
    return false;
  }
  return true;
}

/// What each step gives besides lies side by side: its sizes are those of every step.
bool UnfoldBuilder::checkStacked() {
  for (int32_t i : UnfoldWiring(first, step, token, begin.has_value()).stacked)
    for (const Axis &axis : axesOfType(outputType(step, i))) {
      auto size = axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt;
      Decl *decl = size ? sema.names.modelScope.find(size->dim) : nullptr;
      bool isOfCall = size && (!decl || (decl->kind == Decl::Kind::Cache && !decl->isOnce));
      if (!isOfCall)
        continue;
      error("`" + outputName(step, i) + "` of `" + step.getSymName() +
                "` has another size in each step",
            call.arguments[1].value.get())
          .note("`" + axis.name + "` counts the positions in a cache");
      return false;
    }
  return true;
}

/// The tokens of all steps fit into the caches, and what steps read is filled.
bool UnfoldBuilder::checkCaches() {
  for (const CacheUse &use : cachesOf(step)) {
    llvm::StringRef cache = use.name();
    auto dim = sema.output.module->lookupSymbol<DimOp>(use.cache.getAttr());
    int64_t added = static_cast<int64_t>(*limit) - (begin ? 0 : 1), capacity = dim.getSize();
    if (use.kind == CacheUse::Kind::Push && added >= capacity) {
      sema.report
          .error(DiagCode::UnfoldNumber, call.range,
                 llvm::Twine(int64_t(*limit)) + " tokens do not fit into the cache `" + cache +
                     "`, which holds " + llvm::Twine(capacity))
          .help("give the cache a larger capacity, or a smaller `limit`");
      return false;
    }
    bool isFilled = llvm::any_of(cachesOf(first), [&](const CacheUse &own) {
      return own.cache == use.cache && own.kind == CacheUse::Kind::Fill;
    });
    if (use.kind != CacheUse::Kind::Read || isFilled)
      continue;
    error("`" + step.getSymName() + "` reads the cache `" + cache + "`, which `" +
              first.getSymName() + "` does not fill",
          call.arguments[0].value.get())
        .note("caches are emptied before");
    return false;
  }
  return true;
}

/// Beams are rows of the step, along an axis that has room for them.
bool UnfoldBuilder::checkBeams() {
  auto named = numbers.find("beams");
  int64_t beams = named == numbers.end() ? 1 : static_cast<int64_t>(named->second);
  if (beams == 1)
    return true;
  Axes rows = axesOfType(inputType(step, token));
  auto size = !rows.empty() && rows[0].isDynamic() ? parseLinearSize(rows[0].name) : std::nullopt;
  if (!size || size->scale != 1 || size->offset != 0) {
    error("beams are rows of `" + step.getSymName() + "`, which has a fixed number of them",
          call.arguments[1].value.get())
        .note("`" + inputName(step, token) + "` is " + showAxes(rows))
        .help("write `dyn B <= " + llvm::Twine(8 * beams) + "`, and the tokens as i32[B]");
    return false;
  }
  auto dim = sema.output.module->lookupSymbol<DimOp>(size->dim);
  if (dim && beams > static_cast<int64_t>(dim.getSize())) {
    sema.report
        .error(DiagCode::UnfoldNumber, call.range,
               llvm::Twine(beams) + " beams are more rows than `" + size->dim +
                   "` <= " + llvm::Twine(int64_t(dim.getSize())))
        .note("each row of the entry is as many rows of its steps as there are beams");
    return false;
  }
  if (auto drawn = numbers.find("temperature"); drawn != numbers.end() && drawn->second > 0) {
    sema.report.error(
        DiagCode::UnfoldNumber, call.range,
        "beams are the likeliest tokens: they are not drawn, and have no `temperature`");
    return false;
  }
  return true;
}

mlir::FlatSymbolRefAttr UnfoldBuilder::sharedEntry() {
  auto beams = numbers.find("beams");
  bool hasBeams = beams != numbers.end() && beams->second > 1;
  bool isOfForward =
      !begin && !hasBeams && step.getNumArguments() == 1 && step.getNumResults() == 1;
  mlir::func::FuncOp shared;
  for (const ItemPtr &item : sema.names.model->items) {
    auto *other = llvm::dyn_cast<EntryDecl>(item.get());
    if (!other || other->isForward)
      continue;
    llvm::StringRef name = other->signature.name.text;
    bool isForm = other->bodyKind == EntryDecl::Body::Specialisation && other->only.empty();
    if (name == first.getSymName() || name == step.getSymName())
      isOfForward &= isForm;
    auto function = sema.output.module->lookupSymbol<mlir::func::FuncOp>(name);
    if (isForm && other->rows && !shared && function && function.getNumArguments() == 1 &&
        function.getResultTypes() == step.getResultTypes())
      shared = function;
  }
  return isOfForward && shared ? mlir::FlatSymbolRefAttr::get(shared.getSymNameAttr())
                               : mlir::FlatSymbolRefAttr();
}

void UnfoldBuilder::build() {
  if (!readArguments() || !findToken() || !checkScores() || !checkPassedOn() || !checkStacked() ||
      !checkCaches() || !checkBeams())
    return;
  mlir::OpBuilder &builder = sema.output.header;
  builder.setInsertionPointToEnd(sema.output.module->getBody());
  mlir::NamedAttrList settings;
  for (const auto &[name, value] : numbers)
    settings.set(name, builder.getF64FloatAttr(value));
  for (const auto &[name, tokens] : lists)
    if (!tokens.empty())
      settings.set(name, builder.getDenseI64ArrayAttr(tokens));
  UnfoldOp::create(
      builder, locate(sema, entry.signature.name.range, entry.signature.name.text),
      entry.signature.name.text, first.getSymName(), step.getSymName(), token,
      begin ? builder.getI64IntegerAttr(static_cast<int64_t>(*begin)) : mlir::IntegerAttr(),
      static_cast<int64_t>(*limit), sharedEntry(), settings.getDictionary(builder.getContext()));
}

void buildUnfolds(Sema &sema) {
  if (sema.report.diagnostics.hasErrors()) // entries may be missing
    return;
  sema.names.scope = &sema.names.modelScope;
  for (const ItemPtr &item : sema.names.model->items) {
    auto *entry = llvm::dyn_cast<EntryDecl>(item.get());
    if (!entry || entry->bodyKind != EntryDecl::Body::Unfold)
      continue;
    if (auto *call = llvm::dyn_cast<CallExpr>(entry->value.get()))
      UnfoldBuilder(sema, *entry, *call).build();
    else if (!llvm::isa<ErrorExpr>(*entry->value))
      sema.report.error(DiagCode::Unfold, entry->value->range, "an entry is unfolded of two others")
          .help("write `unfold(prefill, decode, limit = 256, stop = 2)`");
  }
}

} // namespace attn::frontend
