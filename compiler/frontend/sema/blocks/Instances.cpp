// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block becomes one function for each set of sizes and values that it is applied to.
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

static bool checkBlockArguments(Sema &sema, const Instance &instance, const ast::BlockDecl &block,
                                llvm::ArrayRef<SemaValue> arguments, const ast::CallExpr &call,
                                const std::map<std::string, Axis> &bound);

constexpr unsigned deepestBlocks = 64;
constexpr unsigned mostInstances = 2000;

/// What tells axes of one function from those of another.
static std::string showTypes(const Axes &axes) {
  std::string text;
  for (const Axis &axis : axes)
    text += axis.name + "=" + std::to_string(axis.size) + ",";
  return text;
}

static bool isBlockDim(const BlockDecl &block, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path && llvm::any_of(block.signature.dims,
                              [&](const Name &dim) { return dim.text == path->path.str(); });
}

static bool bindBlockDims(Sema &sema, const BlockDecl &block, llvm::ArrayRef<SemaValue> arguments,
                          const CallExpr &call, std::map<std::string, Axis> &bound,
                          std::vector<Axes> &lifted) {
  const Signature &signature = block.signature;
  bool fine = true;
  std::set<std::string> given;
  for (const auto &entry : bound)
    given.insert(entry.first);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type &type = signature.parameters[i].type;
    if (arguments[i].isCache() || arguments[i].isZeros()) {
      lifted.emplace_back();
      continue;
    }
    Axes axes = axesOfValue(arguments[i].tensor);
    auto mismatch = [&](const llvm::Twine &why, llvm::ArrayRef<Axis> others = {}) {
      fine = false;
      std::string declared = sema.source.text(type.range).str();
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::BlockArgument, call.arguments[i].value->range,
                            "`" + signature.name.text + "` takes " + declared + " but gets " +
                                showTensor(arguments[i].tensor));
      diagnostic.at(type.range, "declared here");
      if (std::string text = why.str(); !text.empty())
        diagnostic.note(text);
      Axes all = axes;
      llvm::append_range(all, others);
      if (std::string where = whereSizes(sema, all); !where.empty())
        diagnostic.note(where);
    };
    mlir::Type element = declaredElement(sema.builder, type);
    if (!element || llvm::isa<mlir::FloatType>(element)) // others than f32 are said below
      element = sema.builder.getF32Type();
    if (type.dims.size() > axes.size() || element != elementOf(arguments[i].tensor)) {
      mismatch("");
      continue;
    }
    // What the block does not speak of stands before what it takes.
    size_t own = axes.size() - type.dims.size();
    lifted.emplace_back(axes.begin(), axes.begin() + own);
    axes = Axes(axes.begin() + own, axes.end());
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!isBlockDim(block, *type.dims[d]))
        continue;
      std::string name = canonicalText(*type.dims[d]);
      auto [it, first] = bound.insert({name, axes[d]});
      if (first)
        continue;
      bool fits = given.count(name) ? it->second.size == axes[d].size : it->second == axes[d];
      if (!fits) {
        mismatch("`" + name + "` is " + it->second.name + " already", it->second);
        break;
      }
      given.erase(name);
      it->second = axes[d];
    }
  }
  for (const Name &dim : signature.dims)
    if (fine && !bound.count(dim.text)) {
      sema.report
          .error(DiagCode::UnboundDim, dim.range,
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

Axis outerAxis(const Axis &inner, const Expr &expr, const std::map<std::string, Axis> &bound) {
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr))
    if (auto it = bound.find(path->path.str()); it != bound.end())
      return {it->second.name, inner.size};
  return inner.isDynamic() ? inner : Axis{outerName(expr, bound), inner.size};
}

mlir::Value toParameter(Sema &sema, mlir::Value value, const Axes &axes, SourceRange range) {
  return relabel(sema, value, axes, locate(sema, range));
}

/// Names for lifted axes that a block does not use itself.
static void nameLifted(Instance &instance, const BlockDecl &block) {
  auto isTaken = [&](llvm::StringRef label) {
    bool isDeclared = llvm::any_of(block.items, [&](const ItemPtr &item) {
      auto *dims = llvm::dyn_cast<DimDecl>(item.get());
      return dims && llvm::any_of(dims->entries,
                                  [&](const auto &entry) { return entry.name.text == label; });
    });
    return isDeclared ||
           llvm::any_of(block.signature.dims, [&](const Name &dim) { return dim.text == label; });
  };
  instance.everyLiftedOutside.clear();
  for (Axes &axes : instance.lifted)
    for (Axis &axis : axes) {
      Axis outside = axis;
      std::string label = axisLabel(axis.name).str();
      while (isTaken(label))
        label += "_";
      if (label != axisLabel(axis.name)) {
        llvm::StringRef size = llvm::StringRef(axis.name).rsplit(':').second;
        axis.name = label + (axis.isDynamic() ? ":" + (size.empty() ? axis.name : size.str()) : "");
      }
      if (findAxis(instance.everyLifted, axis.name) < 0) {
        instance.everyLifted.push_back(axis);
        instance.everyLiftedOutside.push_back(outside);
      }
    }
}

/// Whether each argument is what the signature takes at its place, a tensor or a cache; reports
/// those that are not.
static bool checkKinds(Reporter &report, const Signature &signature,
                       llvm::ArrayRef<SemaValue> arguments, const CallExpr &call) {
  bool fine = true;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isNumber())
      report.error(DiagCode::TensorExpected, call.arguments[i].value->range,
                   "`" + signature.name.text + "` takes tensors, but this is a number");
    const Type &type = signature.parameters[i].type;
    bool isWrong = arguments[i].isError() || arguments[i].isNumber();
    if (!isWrong && arguments[i].isCache() != type.isCache()) {
      report
          .error(DiagCode::CacheExpected, call.arguments[i].value->range,
                 "`" + signature.name.text + "` takes " +
                     (type.isCache() ? "a cache, but this is a tensor"
                                     : "a tensor, but this is a cache"))
          .at(type.range, "declared here");
      isWrong = true;
    }
    fine &= !isWrong;
  }
  return fine;
}

/// Adds to `bound` the dims that a stack or a part gives its block; false after an error.
static bool bindGivenDims(Sema &sema, const Signature &signature, const Given &given,
                          std::map<std::string, Axis> &bound) {
  bool fine = true;
  for (const DimArgument &argument : given.dims) {
    bool known = llvm::any_of(signature.dims,
                              [&](const Name &dim) { return dim.text == argument.name.text; });
    if (!known) {
      sema.report
          .error(DiagCode::UnknownDim, argument.name.range,
                 "`" + signature.name.text + "` has no dim `" + argument.name.text + "`")
          .at(signature.range, "declared here");
      fine = false;
      continue;
    }
    llvm::SaveAndRestore place(sema.names.scope, given.scope);
    std::optional<Axis> axis = axisOf(sema, *argument.value);
    fine &= axis.has_value();
    if (axis)
      bound[argument.name.text] = *axis;
  }
  return fine;
}

/// What tells the function of a block for these sizes from others. `statics` is the part of what
/// the block is given by name.
static std::string instanceKey(Sema &sema, const Signature &signature, const Owner &owner,
                               const std::string &statics, const std::map<std::string, Axis> &bound,
                               llvm::ArrayRef<Axes> lifted, llvm::ArrayRef<SemaValue> arguments) {
  // By the place of the declaration: blocks of several files may have one name.
  std::string key = std::to_string(signature.name.range.begin) + "|" + owner.prefix + statics;
  for (const auto &[name, axis] : bound) {
    key += "|" + name + "=" + std::to_string(axis.size) + (axis.isDynamic() ? axis.name : "");
    if (isNewAxis(sema, axis))
      key += "@";
  }
  for (const Axes &axes : lifted)
    key += "|" + showTypes(axes);
  for (const SemaValue &argument : arguments)
    if (argument.isCache())
      key += "|" + argument.cache->name;
  return key + keyOfEntry(sema.entry);
}

/// Declares the dims of a block in the scope of its body, as the sizes of what it is applied to.
static void declareBlockDims(Sema &sema, const BlockDecl &block, std::map<std::string, Axis> &bound,
                             Scope &inside) {
  for (const Name &dim : block.signature.dims) {
    const Axis &axis = bound[dim.text];
    bool isNew = isNewAxis(sema, axis);
    Decl *own = declare(sema, inside, Decl::Kind::Dim, &block, dim.text, dim.range);
    if (!own)
      continue;
    own->state = Decl::State::Done;
    own->isParameter = true;
    own->isNew = isNew;
    own->size = Size::of(axis.size);
    // Inside, an axis is called like the dim, whatever its size.
    if (axis.isDynamic())
      if (std::optional<LinearSize> size = parseLinearSize(axis.name))
        own->size = {size->dim.str(), size->scale, size->offset, false,
                     size->dim == dim.text ? "" : dim.text};
  }
}

/// Says what the axes of a block's parameters are where it is applied.
static void nameOuterAxes(Instance &instance, const BlockDecl &block,
                          std::map<std::string, Axis> &bound) {
  for (const Parameter &parameter : block.signature.parameters)
    for (const ExprPtr &expr : parameter.type.dims)
      if (isBlockDim(block, *expr))
        instance.outerAxes[canonicalText(*expr)] = bound[canonicalText(*expr)];
  for (auto [own, outside] : llvm::zip_equal(instance.everyLifted, instance.everyLiftedOutside))
    instance.outerAxes[axisLabel(own.name).str()] = outside;
}

/// The function with this key, built or not; null and reported where there are too many or it is
/// being built.
static Instance *instanceOf(Sema &sema, const std::string &key, const Signature &signature,
                            const CallExpr &call) {
  Instance &instance = sema.blocks.instances[key];
  if (sema.blocks.instances.size() > mostInstances) {
    sema.report
        .error(DiagCode::SizeOverflow, call.range,
               "the blocks of this model become more than " + llvm::Twine(mostInstances) +
                   " functions")
        .note("a block becomes a function for each set of sizes it is applied to");
    return nullptr;
  }
  if (instance.active || sema.function.depth >= deepestBlocks) {
    sema.report
        .error(DiagCode::RecursiveBlock, call.range,
               "`" + signature.name.text + "` is applied inside of itself")
        .at(signature.name.range, "declared here");
    return nullptr;
  }
  return &instance;
}

/// Gives states all axes that any parameter has beside its own.
static void liftStates(std::vector<Axes> &lifted, llvm::ArrayRef<unsigned> states) {
  Axes all;
  for (const Axes &axes : lifted)
    for (const Axis &axis : axes)
      if (findAxis(all, axis.name) < 0)
        all.push_back(axis);
  for (unsigned state : states)
    lifted[state] = all;
}

Instance *instantiate(Sema &sema, Decl &decl, const Owner &owner,
                      llvm::ArrayRef<SemaValue> arguments, const CallExpr &call, const Given &given,
                      std::map<std::string, Axis> &bound) {
  auto &block = *llvm::cast<BlockDecl>(decl.item);
  const Signature &signature = block.signature;
  if (signature.parameters.size() != arguments.size()) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`" + signature.name.text + "` takes " + llvm::Twine(signature.parameters.size()) +
                   " tensors, but gets " + llvm::Twine(arguments.size()))
        .at(signature.range, "declared here");
    return nullptr;
  }
  bool fine = checkKinds(sema.report, signature, arguments, call);
  fine &= bindGivenDims(sema, signature, given, bound);
  std::vector<Axes> lifted;
  if (!fine || !bindBlockDims(sema, block, arguments, call, bound, lifted))
    return nullptr;
  liftStates(lifted, given.states);
  auto inside = std::make_unique<Scope>();
  inside->parent = decl.home ? decl.home : &sema.names.modelScope;
  inside->number = ++sema.function.bodies;
  std::optional<std::string> statics = bindStatics(sema, block, call, given, *inside);
  if (!statics)
    return nullptr;
  std::string key = instanceKey(sema, signature, owner, *statics, bound, lifted, arguments);
  if (!spend(sema, 1, call.range))
    return nullptr;
  // One that is applied to what is wrong is checked by itself, as those that nothing applies.
  sema.blocks.applied.insert(&block);
  Instance *instance = instanceOf(sema, key, signature, call);
  if (!instance)
    return nullptr;
  if (!instance->function && !instance->wrong) {
    declareBlockDims(sema, block, bound, *inside);
    instance->lifted = std::move(lifted);
    nameLifted(*instance, block);
    nameOuterAxes(*instance, block, bound);
    for (const SemaValue &argument : arguments)
      instance->caches.push_back(argument.cache);
    buildInstance(sema, *instance, block, owner, *inside);
  }
  if (instance->wrong || instance->parameters.size() != arguments.size())
    return nullptr;
  return checkBlockArguments(sema, *instance, block, arguments, call, bound) ? instance : nullptr;
}

static bool checkBlockArguments(Sema &sema, const Instance &instance, const BlockDecl &block,
                                llvm::ArrayRef<SemaValue> arguments, const CallExpr &call,
                                const std::map<std::string, Axis> &bound) {
  const Signature &signature = block.signature;
  // What is not a dim of the block itself must be the very axis.
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isTensor())
      continue;
    Axes axes = axesOfValue(arguments[i].tensor);
    const Type &type = signature.parameters[i].type;
    size_t lifted = axes.size() - type.dims.size(), inside = instance.lifted[i].size();
    for (size_t d = lifted; d < axes.size(); ++d) {
      Axis outer =
          outerAxis(instance.parameters[i][d - lifted + inside], *type.dims[d - lifted], bound);
      if (axes[d] == outer)
        continue;
      Axes both = axes;
      both.push_back(outer);
      Diagnostic &diagnostic = sema.report.error(
          DiagCode::BlockArgument, call.arguments[i].value->range,
          "`" + signature.name.text + "` takes " + sema.source.text(type.range).str() +
              " but gets " + showTensor(arguments[i].tensor));
      diagnostic.at(type.range, "declared here");
      noteSameNames(diagnostic, axes[d], outer);
      if (std::string where = whereSizes(sema, both); !where.empty())
        diagnostic.note(where);
      return false;
    }
  }
  return true;
}

} // namespace attn::frontend
