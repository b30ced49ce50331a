// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model as a whole: declarations, blocks and stacks, entries. A block becomes one function for
// each set of sizes it is applied to; a stack a loop that calls it with the layer's number.
#include "compiler/frontend/Parser.h"
#include "compiler/frontend/SemaImpl.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

constexpr unsigned deepestBlocks = 64;

Decl *Scope::find(llvm::StringRef name) {
  for (Scope *scope = this; scope; scope = scope->parent)
    if (auto it = scope->names.find(name); it != scope->names.end())
      return it->second.get();
  return nullptr;
}

Sema::Sema(const SourceFile &source, const FrontendOptions &options, mlir::MLIRContext &context,
           DiagnosticEngine &diagnostics)
    : source(source), options(options), mlirContext(context), diagnostics(diagnostics),
      builder(&context), paramBuilder(&context) {
  modelScope.parent = &library;
  scope = &modelScope;
}

//===------------------------------------------------------------------------------------------===//
// Diagnostics
//===------------------------------------------------------------------------------------------===//

bool Sema::isFirst(DiagCode code, SourceRange range) {
  return reported.insert({static_cast<unsigned>(code), range.begin, range.end}).second;
}

Diagnostic &Sema::error(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (isFirst(code, range))
    return diagnostics.error(code, range, message);
  return unread = Diagnostic();
}

Diagnostic &Sema::warning(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (isFirst(code, range))
    return diagnostics.warning(code, range, message);
  return unread = Diagnostic();
}

void Sema::unsupported(SourceRange range, const llvm::Twine &what) {
  error(DiagCode::NotSupported, range, what + " is not supported yet");
}

void Sema::suggest(Diagnostic &diagnostic, llvm::StringRef name,
                   llvm::function_ref<bool(const Decl &)> filter) {
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

//===------------------------------------------------------------------------------------------===//
// Declarations
//===------------------------------------------------------------------------------------------===//

Decl *Sema::declare(Scope &in, Decl::Kind kind, const Item *item, llvm::StringRef name,
                    SourceRange range) {
  auto &place = in.names[name];
  if (place) {
    error(DiagCode::DuplicateName, range, "`" + name + "` is declared twice")
        .at(place->range, "it is declared here already");
    place->used = true;
    return nullptr;
  }
  place = std::make_unique<Decl>();
  place->kind = kind;
  place->item = item;
  place->name = name.str();
  place->range = range;
  in.order.push_back(place.get());
  return place.get();
}

void Sema::declareItem(Scope &in, const Item &item) {
  auto declarePaths = [&](Decl::Kind kind, const std::vector<Path> &names) {
    for (const Path &path : names)
      declare(in, kind, &item, path.str(), path.range);
  };
  auto declareUnsupported = [&](llvm::StringRef name, SourceRange range) {
    if (Decl *decl = declare(in, Decl::Kind::Unsupported, &item, name, range))
      decl->used = true;
  };
  switch (item.kind) {
  case Item::Kind::Dim:
    for (const auto &entry : llvm::cast<DimDecl>(item).entries)
      if (Decl *decl = declare(in, Decl::Kind::Dim, &item, entry.name.text, entry.name.range))
        decl->expr = entry.value.get();
    break;
  case Item::Kind::Dyn:
    for (const auto &entry : llvm::cast<DynDecl>(item).entries)
      if (Decl *decl = declare(in, Decl::Kind::Dim, &item, entry.name.text, entry.name.range)) {
        decl->expr = entry.bound.get();
        decl->dynamic = true;
        decl->size = {decl->name, 1, 1, false};
      }
    break;
  case Item::Kind::Linear:
    declarePaths(Decl::Kind::Linear, llvm::cast<LinearDecl>(item).names);
    break;
  case Item::Kind::Norm: {
    auto &norm = llvm::cast<NormDecl>(item);
    bool layerNorm = norm.norm == NormDecl::Norm::Layer;
    if (!layerNorm)
      unsupported(norm.keyword, "`rmsnorm`");
    declarePaths(layerNorm ? Decl::Kind::Norm : Decl::Kind::Unsupported, norm.names);
    break;
  }
  case Item::Kind::Param: {
    auto &param = llvm::cast<ParamDecl>(item);
    bool isParam = param.role == ParamDecl::Role::Param;
    if (!isParam)
      unsupported(param.keyword, "`state`");
    for (const auto &group : param.groups)
      declarePaths(isParam ? Decl::Kind::Param : Decl::Kind::Unsupported, group.names);
    break;
  }
  case Item::Kind::Embedding:
    unsupported(item.keyword, "`embedding`");
    declarePaths(Decl::Kind::Unsupported, llvm::cast<EmbeddingDecl>(item).names);
    break;
  case Item::Kind::Stack: {
    auto &stack = llvm::cast<StackDecl>(item);
    if (&in != &modelScope) {
      unsupported(item.keyword, "a stack in a block");
      declareUnsupported(stack.name.str(), stack.name.range);
    } else {
      declare(in, Decl::Kind::Stack, &item, stack.name.str(), stack.name.range);
    }
    break;
  }
  case Item::Kind::Block: {
    auto &block = llvm::cast<BlockDecl>(item);
    if (block.isCell)
      unsupported(item.keyword, "`cell`");
    if (!block.signature.name.text.empty())
      declare(in, block.isCell ? Decl::Kind::Unsupported : Decl::Kind::Block, &item,
              block.signature.name.text, block.signature.name.range);
    break;
  }
  case Item::Kind::Hook: {
    auto &hook = llvm::cast<HookDecl>(item);
    Decl *decl = declare(in, Decl::Kind::Hook, &item, hook.name.text, hook.name.range);
    if (!decl || hook.hook != HookDecl::Hook::Score)
      break;
    if (!hook.with.empty() || !hook.statics.empty()) {
      unsupported(hook.name.range, "a score with parameters of its own");
      decl->wrong = true;
    } else if (hook.parameters.size() != 2 || hook.parameters[0].text != "q" ||
               hook.parameters[1].text != "k") {
      error(DiagCode::ScoreParameters, hook.name.range, "a score is a function of `q` and `k`")
          .help("write `score " + hook.name.text + "(q, k) = …`");
      decl->wrong = true;
    }
    break;
  }
  case Item::Kind::Entry: {
    auto &entry = llvm::cast<EntryDecl>(item);
    if (entry.isForward)
      unsupported(item.keyword, "`forward`");
    declare(in, entry.isForward ? Decl::Kind::Unsupported : Decl::Kind::Entry, &item,
            entry.signature.name.text, entry.signature.name.range);
    break;
  }
  case Item::Kind::Image:
    if (image)
      error(DiagCode::DuplicateImage, item.keyword, "a model says once what a picture becomes")
          .at(image->keyword, "it is said here already");
    else
      image = &llvm::cast<ImageDecl>(item);
    break;
  case Item::Kind::Cache:
    unsupported(item.keyword, "`cache`");
    declareUnsupported(llvm::cast<CacheDecl>(item).name.text,
                       llvm::cast<CacheDecl>(item).name.range);
    break;
  case Item::Kind::Table:
    unsupported(item.keyword, "`table`");
    declareUnsupported(llvm::cast<TableDecl>(item).name.text,
                       llvm::cast<TableDecl>(item).name.range);
    break;
  default:
    break; // ignore, let, return
  }
}

void Sema::declareModel(const ModelDecl &decl) {
  for (const ItemPtr &item : decl.items)
    declareItem(modelScope, *item);
  applySets();
  llvm::SmallVector<mlir::Attribute> ignored;
  for (const ItemPtr &item : decl.items)
    if (auto *ignore = llvm::dyn_cast<IgnoreDecl>(item.get()))
      for (const Name &pattern : ignore->patterns)
        ignored.push_back(builder.getStringAttr(pattern.text));
  if (!ignored.empty())
    (*module)->setAttr("attn.ignore", builder.getArrayAttr(ignored));
  emitDims(modelScope);
  setUpParameters(modelScope, Owner());
  for (Decl *stack : modelScope.order) {
    if (stack->kind != Decl::Kind::Stack)
      continue;
    auto &item = *llvm::cast<StackDecl>(stack->item);
    stack->size = evalSize(*item.count);
    stack->wrong = stack->size.error;
    if (!stack->wrong && (!stack->size.isStatic() || stack->size.offset < 1)) {
      error(DiagCode::SizeNotPositive, item.count->range,
            stack->size.isStatic() ? "a stack of " + std::to_string(stack->size.offset) + " layers"
                                   : "the number of layers must be known when compiling")
          .note("a stack has at least 1 layer");
      stack->wrong = true;
    }
    Decl *block = scope->find(item.block.text);
    if (block)
      block->used = true;
    if (block && block->kind == Decl::Kind::Unsupported)
      stack->wrong = true;
    else if (!block || block->kind != Decl::Kind::Block) {
      Diagnostic &diagnostic = error(DiagCode::UnknownBlock, item.block.range,
                                     block ? "`" + item.block.text + "` is no block"
                                           : "there is no block `" + item.block.text + "`");
      if (block)
        diagnostic.at(block->range, "declared here");
      else
        suggest(diagnostic, item.block.text,
                [](const Decl &d) { return d.kind == Decl::Kind::Block; });
      stack->wrong = true;
    }
  }
}

void Sema::warnUnused(Scope &in) {
  for (Decl *decl : in.order) {
    llvm::StringRef what;
    switch (decl->kind) {
    case Decl::Kind::Dim:
      what = "dim";
      break;
    case Decl::Kind::Linear:
    case Decl::Kind::Norm:
    case Decl::Kind::Param:
      what = "parameter";
      break;
    case Decl::Kind::Stack:
      what = "stack";
      break;
    case Decl::Kind::Block:
      what = "block";
      break;
    case Decl::Kind::Hook:
      what = "hook";
      break;
    case Decl::Kind::Value:
      what = "value";
      break;
    default:
      continue;
    }
    if (decl->used || decl->isParameter)
      continue;
    Diagnostic &diagnostic = warning(DiagCode::UnusedName, decl->range,
                                     "the " + what + " `" + decl->name + "` is never used");
    if (decl->kind == Decl::Kind::Linear || decl->kind == Decl::Kind::Norm ||
        decl->kind == Decl::Kind::Param)
      diagnostic.note("its tensor must still be in the checkpoint; `ignore` names tensors that are "
                      "left out");
  }
}

//===------------------------------------------------------------------------------------------===//
// Bodies
//===------------------------------------------------------------------------------------------===//

void Sema::buildLet(const LetStmt &let) {
  bool simple = let.patterns.size() == 1 && !let.patterns[0].isTuple() && !let.along;
  auto declareWrong = [&](const Pattern &pattern, auto &&self) -> void {
    for (const Pattern &element : pattern.elements)
      self(element, self);
    if (!pattern.name.text.empty())
      if (Decl *decl =
              declare(*scope, Decl::Kind::Value, &let, pattern.name.text, pattern.name.range))
        decl->used = true;
  };
  if (!simple) {
    unsupported(let.range, "a `let` of several values");
    for (const Pattern &pattern : let.patterns)
      declareWrong(pattern, declareWrong);
    return;
  }
  const Name &name = let.patterns[0].name;
  std::string outer = std::exchange(context, name.text);
  SemaValue value = eval(*let.value);
  context = outer;
  if (Decl *decl = declare(*scope, Decl::Kind::Value, &let, name.text, name.range)) {
    decl->value = value;
    decl->used = value.isError(); // what uses it may be silent too
  }
}

std::vector<SemaValue> Sema::buildBody(const std::vector<ItemPtr> &items, SourceRange end,
                                       const Signature &signature) {
  std::vector<SemaValue> results;
  const ReturnStmt *returned = nullptr;
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
      continue;
    }
    returned = ret;
    for (const ExprPtr &value : ret->values)
      results.push_back(eval(*value));
  }
  if (!returned)
    error(DiagCode::MissingReturn, end,
          "the body of `" + signature.name.text + "` does not end with `return`")
        .at(signature.name.range, "declared here");
  return results;
}

std::vector<mlir::Value> Sema::checkResults(llvm::ArrayRef<SemaValue> values,
                                            llvm::ArrayRef<SourceRange> places,
                                            const Signature &signature,
                                            llvm::ArrayRef<Axes> declared) {
  std::vector<mlir::Value> results;
  if (values.size() != signature.results.size()) {
    error(DiagCode::ResultCount, places.front().to(places.back()),
          "`" + signature.name.text + "` returns " + llvm::Twine(values.size()) +
              " values, but declares " + llvm::Twine(signature.results.size()))
        .at(signature.range, "declared here");
    return {};
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isNumber())
      error(DiagCode::TensorExpected, places[i],
            "the result must be a tensor, but this is a number");
    if (!values[i].isTensor() || i >= declared.size())
      continue;
    Axes axes = axesOfValue(values[i].tensor);
    bool same = axes.size() == declared[i].size();
    mlir::Value result =
        same ? withLast(values[i].tensor, declared[i], locate(places[i])) : mlir::Value();
    if (!result) {
      Diagnostic &diagnostic = error(DiagCode::ResultAxes, places[i],
                                     "`" + signature.name.text + "` returns " + showAxes(axes) +
                                         ", but its type is " + showAxes(declared[i]));
      diagnostic.at(signature.results[i].range, "declared here");
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

static std::vector<SourceRange> returnPlaces(const std::vector<ItemPtr> &items) {
  std::vector<SourceRange> places;
  for (const ItemPtr &item : items)
    if (auto *ret = llvm::dyn_cast<ReturnStmt>(item.get())) {
      for (const ExprPtr &value : ret->values)
        places.push_back(value->range);
      break;
    }
  return places;
}

//===------------------------------------------------------------------------------------------===//
// Blocks and stacks
//===------------------------------------------------------------------------------------------===//

static bool isBlockDim(const BlockDecl &block, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path && llvm::any_of(block.signature.dims,
                              [&](const Name &dim) { return dim.text == path->path.str(); });
}

bool Sema::bindBlockDims(const BlockDecl &block, llvm::ArrayRef<SemaValue> arguments,
                         const CallExpr &call, std::map<std::string, Axis> &bound) {
  const Signature &signature = block.signature;
  bool fine = true;
  std::set<std::string> given;
  for (const auto &entry : bound)
    given.insert(entry.first);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = signature.parameters[i].type;
    Axes axes = axesOfValue(arguments[i].tensor);
    auto mismatch = [&](const llvm::Twine &why) {
      fine = false;
      std::string declared = source.text(type.range).str();
      Diagnostic &diagnostic =
          error(DiagCode::BlockArgument, call.arguments[i].value->range,
                "`" + signature.name.text + "` takes " + declared + " but gets " + showAxes(axes));
      diagnostic.at(type.range, "declared here");
      if (std::string text = why.str(); !text.empty())
        diagnostic.note(text);
      if (std::string where = whereSizes(axes); !where.empty())
        diagnostic.note(where);
    };
    if (type.dims.size() != axes.size()) {
      mismatch("");
      continue;
    }
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!isBlockDim(block, *type.dims[d]))
        continue;
      std::string name = canonicalText(*type.dims[d]);
      auto [it, first] = bound.insert({name, axes[d]});
      if (first)
        continue;
      bool fits = given.count(name) ? it->second.size == axes[d].size : it->second == axes[d];
      if (!fits) {
        mismatch("`" + name + "` is " + it->second.name + " already");
        break;
      }
      given.erase(name);
      it->second = axes[d];
    }
  }
  for (const Name &dim : signature.dims)
    if (fine && !bound.count(dim.text)) {
      error(DiagCode::UnboundDim, dim.range,
            "nothing says what `" + dim.text + "` is where `" + signature.name.text +
                "` is applied")
          .at(call.range, "applied here")
          .note("a dim of a block is an axis of one of its parameters, or given by the stack: "
                "`of " +
                signature.name.text + "[" + dim.text + ": 64]`");
      fine = false;
    }
  return fine;
}

/// The name that `expr` has outside of a block whose dims are bound so.
static std::string outerName(const Expr &expr, const std::map<std::string, Axis> &bound) {
  bool alone = llvm::isa<PathExpr>(expr);
  return canonicalText(expr, [&](llvm::StringRef name) {
    auto it = bound.find(name.str());
    if (it == bound.end())
      return name.str();
    bool word = llvm::all_of(it->second.name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    return alone || word ? it->second.name : "(" + it->second.name + ")";
  });
}

mlir::Value Sema::toParameter(mlir::Value value, const Axes &axes, SourceRange range) {
  return relabel(value, axes, locate(range));
}

Instance *Sema::instantiate(const BlockDecl &block, const Owner &owner,
                            llvm::ArrayRef<SemaValue> arguments, const CallExpr &call,
                            const StackDecl *stack, std::map<std::string, Axis> &bound) {
  const Signature &signature = block.signature;
  if (!signature.statics.empty()) {
    unsupported(signature.name.range, "a block with compile-time arguments");
    return nullptr;
  }
  if (signature.parameters.size() != arguments.size()) {
    error(DiagCode::WrongArguments, call.range,
          "`" + signature.name.text + "` takes " + llvm::Twine(signature.parameters.size()) +
              " tensors, but gets " + llvm::Twine(arguments.size()))
        .at(signature.range, "declared here");
    return nullptr;
  }
  bool wrong = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isNumber())
      error(DiagCode::TensorExpected, call.arguments[i].value->range,
            "`" + signature.name.text + "` takes tensors, but this is a number");
    wrong |= !arguments[i].isTensor();
  }
  if (stack)
    for (const DimArgument &argument : stack->dimArguments) {
      bool known = llvm::any_of(signature.dims,
                                [&](const Name &dim) { return dim.text == argument.name.text; });
      if (!known) {
        error(DiagCode::UnknownDim, argument.name.range,
              "`" + signature.name.text + "` has no dim `" + argument.name.text + "`")
            .at(signature.range, "declared here");
        wrong = true;
        continue;
      }
      Scope *outer = std::exchange(scope, &modelScope);
      std::optional<Axis> axis = axisOf(*argument.value);
      scope = outer;
      wrong |= !axis;
      if (axis)
        bound[argument.name.text] = *axis;
    }
  if (wrong || !bindBlockDims(block, arguments, call, bound))
    return nullptr;

  std::string key = signature.name.text + "|" + owner.prefix;
  for (const auto &[name, axis] : bound)
    key += "|" + name + "=" + std::to_string(axis.size) + (axis.isDynamic() ? axis.name : "");
  Instance &instance = instances[key];
  if (instance.active || depth >= deepestBlocks) {
    error(DiagCode::RecursiveBlock, call.range,
          "`" + signature.name.text + "` is applied inside of itself")
        .at(signature.name.range, "declared here");
    return nullptr;
  }
  auto inside = std::make_unique<Scope>();
  if (!instance.function && !instance.wrong) {
    inside->parent = &modelScope;
    for (const Name &dim : signature.dims)
      if (Decl *decl = declare(*inside, Decl::Kind::Dim, &block, dim.text, dim.range)) {
        const Axis &axis = bound[dim.text];
        decl->state = Decl::State::Done;
        decl->isParameter = true;
        decl->size = Size::of(axis.size);
        if (axis.isDynamic())
          if (std::optional<LinearSize> size = parseLinearSize(axis.name))
            decl->size = {size->dim.str(), size->scale, size->offset, false};
      }
    buildInstance(instance, block, owner, *inside);
  }
  if (instance.wrong || instance.parameters.size() != arguments.size())
    return nullptr;
  // What is not a dim of the block itself must be the very axis.
  for (size_t i = 0; i < arguments.size(); ++i) {
    Axes axes = axesOfValue(arguments[i].tensor);
    const Type &type = signature.parameters[i].type;
    for (size_t d = 0; d < axes.size(); ++d) {
      const Axis &inner = instance.parameters[i][d];
      std::string name = inner.isDynamic() ? inner.name : outerName(*type.dims[d], bound);
      if (axes[d] == Axis{name, inner.size})
        continue;
      Axes both = axes;
      both.push_back({name, inner.size});
      Diagnostic &diagnostic =
          error(DiagCode::BlockArgument, call.arguments[i].value->range,
                "`" + signature.name.text + "` takes " + source.text(type.range).str() +
                    " but gets " + showAxes(axes));
      diagnostic.at(type.range, "declared here");
      if (std::string where = whereSizes(both); !where.empty())
        diagnostic.note(where);
      return nullptr;
    }
  }
  return &instance;
}

void Sema::buildInstance(Instance &instance, const BlockDecl &block, const Owner &owner,
                         Scope &inside) {
  const Signature &signature = block.signature;
  mlir::OpBuilder::InsertionGuard guard(builder);
  Scope *outerScope = std::exchange(scope, &inside);
  mlir::Value outerLayer = layer;
  std::string outerContext = std::exchange(context, signature.name.text);
  instance.active = true;
  instance.wrong = true;
  ++depth;

  unsigned before = diagnostics.errorCount();
  for (const ItemPtr &item : block.items)
    declareItem(inside, *item);
  for (Decl *decl : inside.order)
    if (decl->kind == Decl::Kind::Dim)
      sizeOf(*decl);
  setUpParameters(inside, owner);
  bool fine = true;
  llvm::SmallVector<mlir::Type> inputs, outputs;
  if (owner.inStack)
    inputs.push_back(builder.getIndexType());
  auto readType = [&](const Type &type, std::vector<Axes> &list,
                      llvm::SmallVectorImpl<mlir::Type> &types, llvm::StringRef what) {
    std::optional<Axes> axes = typeAxes(type, what);
    mlir::RankedTensorType tensor = axes ? tensorType(*axes, type.range) : nullptr;
    fine &= static_cast<bool>(tensor);
    list.push_back(axes.value_or(Axes()));
    types.push_back(tensor);
  };
  for (const Parameter &parameter : signature.parameters)
    readType(parameter.type, instance.parameters, inputs, "a parameter");
  for (const Type &type : signature.results)
    readType(type, instance.results, outputs, "a result");
  if (fine) {
    builder.setInsertionPointToEnd(module->getBody());
    auto function = mlir::func::FuncOp::create(
        builder, locate(signature.name.range, signature.name.text),
        uniqueSymbol(signature.name.text), builder.getFunctionType(inputs, outputs));
    function.setPrivate();
    mlir::Block *entry = function.addEntryBlock();
    builder.setInsertionPointToEnd(entry);
    layer = owner.inStack ? mlir::Value(entry->getArgument(0)) : mlir::Value();
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const Name &name = signature.parameters[i].name;
      if (Decl *decl = declare(inside, Decl::Kind::Value, &block, name.text, name.range)) {
        decl->value = SemaValue::of(entry->getArgument(i + owner.inStack));
        decl->isParameter = true;
      }
    }
    std::vector<SemaValue> values = buildBody(block.items, block.closingBrace, signature);
    std::vector<SourceRange> places = returnPlaces(block.items);
    if (!places.empty()) {
      std::vector<mlir::Value> results = checkResults(values, places, signature, instance.results);
      if (results.size() == signature.results.size())
        mlir::func::ReturnOp::create(builder, locate(places.front(), "return"), results);
    }
    instance.function = function;
    warnUnused(inside);
    instance.wrong = false; // its type is known; what is wrong inside was said
    (void)before;
  }
  --depth;
  instance.active = false;
  scope = outerScope;
  layer = outerLayer;
  context = outerContext;
}

SemaValue Sema::outside(mlir::Value result, const BlockDecl &block,
                        const std::map<std::string, Axis> &bound, SourceRange range) {
  Axes axes = axesOfValue(result);
  for (size_t d = 0; d < axes.size(); ++d)
    if (!axes[d].isDynamic())
      axes[d].name = outerName(*block.signature.results[0].dims[d], bound);
  for (size_t d = 0; d < axes.size(); ++d)
    if (findAxis(axes, axes[d].name) != static_cast<int>(d)) {
      error(DiagCode::DuplicateAxis, range,
            "the result would have the axis `" + axes[d].name + "` twice")
          .at(block.signature.results[0].range, "declared here");
      return SemaValue::wrong();
    }
  return SemaValue::of(relabel(result, axes, locate(range)));
}

SemaValue Sema::applyStack(Decl &decl, const CallExpr &call) {
  auto &stack = *llvm::cast<StackDecl>(decl.item);
  if (!plainArguments(call, decl.name, 1, 1000, decl.name + "(x)"))
    return SemaValue::wrong();
  std::vector<SemaValue> arguments;
  for (const Argument &argument : call.arguments)
    arguments.push_back(eval(*argument.value));
  if (decl.wrong)
    return SemaValue::wrong();
  if (!stack.arguments.empty()) {
    unsupported(stack.block.range, "a stack with compile-time arguments");
    return SemaValue::wrong();
  }
  Owner owner;
  owner.inStack = true;
  owner.symbolPrefix = decl.name + ".";
  std::string path = decl.name + (stack.shared ? "" : ".{n}");
  if (!stack.shared)
    owner.layers = decl.size.offset;
  if (stack.binding.kind == Binding::Kind::String) {
    if (!checkPattern(stack.binding.pattern, owner, false))
      return SemaValue::wrong();
    path = stack.binding.pattern.text;
    if (!stack.shared && !llvm::StringRef(path).contains("{n}")) {
      error(DiagCode::BadPattern, stack.binding.pattern.range,
            "the layers of `" + decl.name + "` would share their tensors")
          .help("write `{n}` where the number of the layer stands: `\"" + path +
                ".{n}\"`, or `of shared " + stack.block.text + "`");
      return SemaValue::wrong();
    }
  } else if (stack.binding.kind != Binding::Kind::Path || stack.binding.optional ||
             !stack.binding.layouts.empty()) {
    unsupported(stack.binding.range, "such a binding of a stack");
    return SemaValue::wrong();
  }
  owner.prefix = path + ".";
  owner.stackPrefix = llvm::StringRef(path).split("{n}").first.str();
  auto &block = *llvm::cast<BlockDecl>(scope->find(stack.block.text)->item);
  std::map<std::string, Axis> bound;
  Instance *instance = instantiate(block, owner, arguments, call, &stack, bound);
  if (!instance)
    return SemaValue::wrong();
  if (instance->results.size() != 1 || instance->results[0] != instance->parameters[0]) {
    const Signature &signature = block.signature;
    Diagnostic &diagnostic = error(DiagCode::NotStackable, stack.block.range,
                                   "`" + signature.name.text +
                                       "` cannot be stacked, since it does not give what it takes");
    diagnostic.at(signature.parameters[0].type.range, "it takes this");
    if (!signature.results.empty())
      diagnostic.at(signature.results[0].range, "it gives this");
    return SemaValue::wrong();
  }
  Location loc = locate(call.range, decl.name);
  llvm::SmallVector<mlir::Value> operands;
  for (size_t i = 0; i < arguments.size(); ++i)
    operands.push_back(
        toParameter(arguments[i].tensor, instance->parameters[i], call.arguments[i].value->range));
  auto index = [&](int64_t value) -> mlir::Value {
    return mlir::arith::ConstantIndexOp::create(builder, loc, value);
  };
  mlir::Value from = index(0), to = index(decl.size.offset), step = index(1);
  auto loop =
      mlir::scf::ForOp::create(builder, loc, from, to, step, mlir::ValueRange(operands.front()));
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(loop.getBody());
    llvm::SmallVector<mlir::Value> passed{loop.getInductionVar(), loop.getRegionIterArg(0)};
    llvm::append_range(passed, llvm::drop_begin(operands));
    auto inner = mlir::func::CallOp::create(builder, loc, instance->function, passed);
    mlir::scf::YieldOp::create(builder, loc, inner.getResults());
  }
  return outside(loop.getResult(0), block, bound, call.range);
}

SemaValue Sema::applyBlock(Decl &decl, const CallExpr &call) {
  auto &block = *llvm::cast<BlockDecl>(decl.item);
  if (!plainArguments(call, decl.name, 0, 1000, decl.name + "(x)"))
    return SemaValue::wrong();
  std::vector<SemaValue> arguments;
  for (const Argument &argument : call.arguments)
    arguments.push_back(eval(*argument.value));
  for (const ItemPtr &item : block.items)
    if (item->kind == Item::Kind::Linear || item->kind == Item::Kind::Param ||
        item->kind == Item::Kind::Norm || item->kind == Item::Kind::Embedding) {
      error(DiagCode::BlockParameters, call.range,
            "`" + decl.name + "` has parameters of its own, and no path for them here")
          .at(item->range, "such as this")
          .help("declare `stack name: 1 of " + decl.name + "` and apply `name`");
      return SemaValue::wrong();
    }
  std::map<std::string, Axis> bound;
  Instance *instance = instantiate(block, Owner(), arguments, call, nullptr, bound);
  if (!instance)
    return SemaValue::wrong();
  if (instance->results.size() != 1) {
    unsupported(call.range, "a block with several results");
    return SemaValue::wrong();
  }
  llvm::SmallVector<mlir::Value> operands;
  for (size_t i = 0; i < arguments.size(); ++i)
    operands.push_back(
        toParameter(arguments[i].tensor, instance->parameters[i], call.arguments[i].value->range));
  auto result = mlir::func::CallOp::create(builder, locate(call.range, decl.name),
                                           instance->function, operands);
  return outside(result.getResult(0), block, bound, call.range);
}

//===------------------------------------------------------------------------------------------===//
// Entries and pictures
//===------------------------------------------------------------------------------------------===//

std::optional<std::vector<double>> Sema::imageChannels(const std::vector<ExprPtr> &values,
                                                       llvm::StringRef what, double byDefault) {
  if (values.empty())
    return std::vector<double>{byDefault};
  std::vector<double> numbers;
  for (const ExprPtr &value : values) {
    std::optional<double> number = evalNumber(*value, "the " + what + " of a picture");
    if (!number)
      return std::nullopt;
    if (what == "std" && !(*number > 0)) {
      error(DiagCode::ImageChannels, value->range, "the standard deviation must be more than 0");
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void Sema::checkImage() {
  if (!image || !image->resampling)
    return;
  llvm::StringRef filter = image->resampling->text;
  if (filter == "nearest" || filter == "bilinear" || filter == "bicubic")
    return;
  Diagnostic &diagnostic = error(DiagCode::ImageFilter, image->resampling->range,
                                 "pictures cannot be resized by `" + filter + "`");
  if (auto near = nearestName(filter, {"nearest", "bilinear", "bicubic"}))
    diagnostic.help("did you mean `" + *near + "`?");
  else
    diagnostic.note("the ways are nearest, bilinear and bicubic");
}

mlir::DictionaryAttr Sema::imageAttr(const EntryDecl &entry, const Parameter &parameter,
                                     llvm::ArrayRef<Axis> axes) {
  imageUsed = true;
  if (axes.size() < 3 || axes.size() > 4) {
    error(DiagCode::ImageSize, parameter.type.range,
          "a picture becomes a tensor of channels, height and width, but this is " + showAxes(axes))
        .at(image->keyword, "the picture")
        .help("write `f32[B, C, Y, X]`");
    return nullptr;
  }
  Axis channels = axes[axes.size() - 3], height = axes[axes.size() - 2], width = axes.back();
  Size h = evalSize(*image->height), w = evalSize(*image->width);
  if (h.error || w.error)
    return nullptr;
  bool agree = h.isStatic() && w.isStatic() && h.offset == height.size && w.offset == width.size;
  if (!agree && !options.sets.empty() && !height.isDynamic() && !width.isDynamic()) {
    // Other sizes were asked for: the picture follows.
    warning(DiagCode::ImageSize, image->height->range.to(image->width->range),
            "pictures are resized to " + llvm::Twine(width.size) + " x " +
                llvm::Twine(height.size) + ", as --set makes the tensor");
    h = Size::of(height.size);
    w = Size::of(width.size);
  } else if (!agree) {
    auto size = [](const Axis &axis) {
      return axis.isDynamic() ? "unknown" : std::to_string(axis.size);
    };
    Diagnostic &diagnostic =
        error(DiagCode::ImageSize, image->height->range.to(image->width->range),
              "the picture is " + llvm::Twine(h.offset) + " high and " + llvm::Twine(w.offset) +
                  " wide, but the tensor " + size(height) + " and " + size(width));
    diagnostic.at(parameter.type.range, "this is " + showAxes(axes));
    if (std::string where = whereSizes({height, width}); !where.empty())
      diagnostic.note(where);
    return nullptr;
  }
  if (channels.size != 1 && channels.size != 3) {
    error(DiagCode::ImageChannels, parameter.type.range,
          "a picture has 1 or 3 channels, but the axis `" + channels.name + "` has " +
              (channels.isDynamic() ? std::string("an unknown number")
                                    : std::to_string(channels.size)))
        .at(image->keyword, "the picture");
    return nullptr;
  }
  std::optional<std::vector<double>> mean = imageChannels(image->mean, "mean", 0),
                                     std = imageChannels(image->std, "std", 1);
  if (!mean || !std)
    return nullptr;
  for (auto &[numbers, exprs, what] :
       {std::tuple{&*mean, &image->mean, "mean"}, {&*std, &image->std, "std"}})
    if (numbers->size() != 1 && static_cast<int64_t>(numbers->size()) != channels.size) {
      error(DiagCode::ImageChannels, exprs->front()->range.to(exprs->back()->range),
            llvm::Twine(what) + " has " + llvm::Twine(numbers->size()) +
                " numbers, but the picture has " + llvm::Twine(channels.size) +
                (channels.size == 1 ? " channel" : " channels"))
          .note("one number stands for all channels");
      return nullptr;
    }
  auto floats = [&](const std::vector<double> &numbers) {
    llvm::SmallVector<mlir::Attribute> attrs;
    for (double number : numbers)
      attrs.push_back(builder.getF32FloatAttr(static_cast<float>(number)));
    return builder.getArrayAttr(attrs);
  };
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("filter", builder.getStringAttr(
                                          image->resampling ? image->resampling->text : "bicubic")),
       builder.getNamedAttr("height", builder.getI64IntegerAttr(h.offset)),
       builder.getNamedAttr("mean", floats(*mean)), builder.getNamedAttr("std", floats(*std)),
       builder.getNamedAttr("width", builder.getI64IntegerAttr(w.offset))});
}

bool Sema::checkEntryForm(const EntryDecl &entry) {
  const Signature &signature = entry.signature;
  if (entry.bodyKind == EntryDecl::Body::Specialisation)
    unsupported(entry.range, "an entry made from `forward`");
  else if (!signature.dims.empty())
    unsupported(signature.name.range, "an entry with dims of its own");
  else if (!signature.statics.empty())
    unsupported(signature.name.range, "an entry with compile-time arguments");
  else
    return true;
  return false;
}

void Sema::nameEntry(const EntryDecl &entry, mlir::func::FuncOp function) {
  const Signature &signature = entry.signature;
  function->setAttr("attn.entry", builder.getUnitAttr());
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    function.setArgAttr(i, "attn.name", builder.getStringAttr(signature.parameters[i].name.text));
  size_t results = signature.results.size();
  for (size_t i = 0; i < results; ++i)
    function.setResultAttr(
        i, "attn.name",
        builder.getStringAttr(signature.name.text + (results == 1 ? "" : "." + std::to_string(i))));
}

void Sema::buildEntry(const EntryDecl &entry) {
  const Signature &signature = entry.signature;
  if (entry.isForward || !checkEntryForm(entry))
    return;
  Scope inside;
  inside.parent = &modelScope;
  scope = &inside;
  context = signature.name.text;
  layer = nullptr;
  llvm::SmallVector<mlir::Type> inputs, outputs;
  std::vector<Axes> parameters, results;
  bool fine = true;
  auto readType = [&](const Type &type, std::vector<Axes> &list,
                      llvm::SmallVectorImpl<mlir::Type> &types, llvm::StringRef what) {
    std::optional<Axes> axes = typeAxes(type, what);
    mlir::RankedTensorType tensor = axes ? tensorType(*axes, type.range) : nullptr;
    fine &= static_cast<bool>(tensor);
    list.push_back(axes.value_or(Axes()));
    types.push_back(tensor);
  };
  for (const Parameter &parameter : signature.parameters)
    readType(parameter.type, parameters, inputs, "an input");
  for (const Type &type : signature.results)
    readType(type, results, outputs, "a result");
  for (size_t i = 0; i < signature.parameters.size(); ++i)
    if (image && signature.parameters[i].name.text == "image")
      imageUsed = true;
  if (fine) {
    builder.setInsertionPointToEnd(module->getBody());
    auto function =
        mlir::func::FuncOp::create(builder, locate(signature.name.range, signature.name.text),
                                   signature.name.text, builder.getFunctionType(inputs, outputs));
    nameEntry(entry, function);
    mlir::Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    for (size_t i = 0; i < signature.parameters.size(); ++i) {
      const Parameter &parameter = signature.parameters[i];
      if (Decl *decl = declare(inside, Decl::Kind::Value, &entry, parameter.name.text,
                               parameter.name.range)) {
        decl->value = SemaValue::of(block->getArgument(i));
        decl->isParameter = true;
      }
      if (image && parameter.name.text == "image")
        if (mlir::DictionaryAttr attr = imageAttr(entry, parameter, parameters[i]))
          function.setArgAttr(i, "attn.image", attr);
    }
    std::vector<SemaValue> values;
    std::vector<SourceRange> places;
    if (entry.bodyKind == EntryDecl::Body::Expression) {
      values.push_back(eval(*entry.value));
      places.push_back(entry.value->range);
    } else {
      values = buildBody(entry.items, entry.closingBrace, signature);
      places = returnPlaces(entry.items);
    }
    if (!places.empty()) {
      std::vector<mlir::Value> returned = checkResults(values, places, signature, results);
      if (returned.size() == signature.results.size())
        mlir::func::ReturnOp::create(builder, locate(places.front(), "return"), returned);
    }
    warnUnused(inside);
  }
  scope = &modelScope;
}

//===------------------------------------------------------------------------------------------===//
// The file
//===------------------------------------------------------------------------------------------===//

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
  checkFile(file);
  if (!model)
    return nullptr;
  module = mlir::ModuleOp::create(locate(model->keyword, model->name.text));
  (*module)->setAttr("attn.model", builder.getStringAttr(model->name.text));
  unsigned entries = 0;
  for (const ItemPtr &item : model->items)
    if (auto *entry = llvm::dyn_cast<EntryDecl>(item.get())) {
      ++entries;
      symbols.insert(entry->signature.name.text);
    }
  if (!entries)
    error(DiagCode::NoEntry, model->name.range, "the model has no entry")
        .help("write `entry name(x: [B, D]) -> [B, K] { … }`: what a program can call");
  declareModel(*model);
  checkImage();
  for (Decl *decl : std::vector<Decl *>(modelScope.order))
    if (decl->kind == Decl::Kind::Entry)
      buildEntry(*llvm::cast<EntryDecl>(decl->item));
  if (image && !imageUsed)
    error(DiagCode::ImageArgument, image->keyword, "no entry takes the picture")
        .note("the parameter of an entry that may be given as a picture is called `image`");
  warnUnused(modelScope);
  if (diagnostics.hasErrors())
    return nullptr;
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

mlir::OwningOpRef<mlir::ModuleOp> buildModel(const SourceFile &source,
                                             const FrontendOptions &options,
                                             mlir::MLIRContext &context,
                                             DiagnosticEngine &diagnostics) {
  std::unique_ptr<File> file = parse(source, diagnostics);
  // Names that did not parse would be missed everywhere: syntax first.
  if (diagnostics.hasErrors())
    return nullptr;
  return Sema(source, options, context, diagnostics).run(*file);
}

} // namespace attn::frontend
