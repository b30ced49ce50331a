// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters: their types, and where their elements are in the checkpoint's tensors.
#include "compiler/frontend/sema/SemaImpl.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace attn::frontend {

using namespace ast;

constexpr int64_t mostTensors = 1 << 20;

static llvm::SmallVector<int64_t, 4> sizesOf(llvm::ArrayRef<Axis> axes) {
  llvm::SmallVector<int64_t, 4> sizes;
  for (const Axis &axis : axes)
    sizes.push_back(axis.size);
  return sizes;
}

/// What exceeds 64 bits stays at their end: it is refused later (`productOf`).
static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

/// Row-major strides, innermost `unit`.
static llvm::SmallVector<int64_t, 4> rowMajor(llvm::ArrayRef<Axis> axes, int64_t unit) {
  llvm::SmallVector<int64_t, 4> strides(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    strides[i] = unit;
    unit = times(unit, axes[i].size);
  }
  return strides;
}

static int64_t count(llvm::ArrayRef<Axis> axes) {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product = times(product, axis.size);
  return product;
}

void Sema::setUpShapes(Scope &owned) {
  for (Decl *decl : owned.order) {
    auto read = [&](const std::vector<ExprPtr> &exprs, SourceRange range, Axes &axes) {
      std::optional<Axes> found = axesOf(exprs, range);
      decl->wrong |= !found;
      axes = found.value_or(Axes());
      for (const Axis &axis : axes)
        if (axis.isDynamic()) {
          error(DiagCode::DynamicAxis, range,
                "the axis `" + axis.name + "` of a parameter is known only when running");
          decl->wrong = true;
        }
    };
    if (decl->kind == Decl::Kind::Linear) {
      auto &linear = *llvm::cast<LinearDecl>(decl->item);
      read(linear.from, linear.range, decl->from);
      read(linear.to, linear.range, decl->to);
    } else if (decl->kind == Decl::Kind::Embedding) {
      auto &embedding = *llvm::cast<EmbeddingDecl>(decl->item);
      read(embedding.from, embedding.range, decl->from);
      read(embedding.to, embedding.range, decl->to);
    } else if (decl->kind == Decl::Kind::Table) {
      setUpTable(*decl);
    } else if (decl->kind == Decl::Kind::Norm) {
      auto &norm = *llvm::cast<NormDecl>(decl->item);
      read(norm.dims, norm.range, decl->from);
      decl->eps = 1e-5; // PyTorch's
      if (!norm.eps)
        continue;
      std::optional<double> eps = evalNumber(*norm.eps, "`eps`");
      decl->wrong |= !eps;
      if (eps && *eps < 0) {
        error(DiagCode::InvalidEps, norm.eps->range,
              "`eps` is at least 0, but `" + source.text(norm.eps->range) + "` is less")
            .note("it is added to the variance, of which the square root is taken");
        decl->wrong = true;
      }
      decl->eps = eps.value_or(0);
    } else if (decl->kind == Decl::Kind::Param) {
      std::optional<Axes> axes = typeAxes(*decl->type, "a parameter", TypePlace::Param);
      read(decl->type->dims, decl->type->range, decl->to);
      decl->wrong |= !axes;
    }
  }
}

void Sema::setUpParameters(Scope &owned, const Owner &owner) {
  setUpShapes(owned);
  // Tied parameters last: what they are tied to is there then.
  for (bool tied : {false, true})
    for (Decl *decl : owned.order) {
      if (!decl->binding || (decl->binding->kind == Binding::Kind::Tied) != tied)
        continue;
      if (decl->kind == Decl::Kind::Linear)
        setUpLinear(*decl, owner, owned);
      else if (decl->kind == Decl::Kind::Embedding)
        setUpEmbedding(*decl, owner, owned);
      else if (decl->kind == Decl::Kind::Norm)
        setUpNorm(*decl, owner, owned);
      else if (decl->kind == Decl::Kind::Param)
        setUpParam(*decl, owner, owned);
    }
}

/// The last word of a path: what a split calls the part.
static llvm::StringRef lastWord(const Path &path) { return path.parts.back().text; }

const Scope::Parts &Scope::partsBeside(const Decl &decl) {
  if (!packed) {
    packed.emplace();
    for (const Decl *other : order)
      if (other->binding && other->binding->kind == Binding::Kind::Split)
        (*packed)[{other->kind, other->binding->pattern.text}][lastWord(*other->path)] = other;
  }
  return (*packed)[{decl.kind, decl.binding->pattern.text}];
}

std::optional<Sema::Packing> Sema::splitPacking(const Decl &decl, const LinearDecl &linear,
                                                Scope &owned) {
  const Binding &binding = linear.binding;
  if (!spend(binding.components.size(), binding.range))
    return std::nullopt;
  // The parts: linear maps of this body that are bound to the same packed tensor.
  const Scope::Parts &parts = owned.partsBeside(decl);
  std::vector<llvm::StringRef> words;
  for (const auto &part : parts)
    words.push_back(part.first());
  llvm::sort(words);
  std::vector<const Decl *> order;
  size_t leading = 0;
  std::set<std::string> seen;
  for (const Name &word : binding.components) {
    if (!seen.insert(word.text).second) {
      error(DiagCode::SplitParts, word.range, "the part `" + word.text + "` is given twice");
      return std::nullopt;
    }
    if (auto it = parts.find(word.text); it != parts.end()) {
      order.push_back(it->second);
      continue;
    }
    bool isAxis = order.empty() && leading < decl.to.size() &&
                  llvm::StringRef(decl.to[leading].name).equals_insensitive(word.text);
    if (isAxis) {
      ++leading;
      continue;
    }
    bool anyAxis = llvm::any_of(decl.to, [&](const Axis &axis) {
      return llvm::StringRef(axis.name).equals_insensitive(word.text);
    });
    Diagnostic &diagnostic =
        error(DiagCode::SplitParts, word.range,
              anyAxis ? "the axis `" + word.text + "` cannot stand here"
                      : "`" + word.text + "` is neither a part of `" + binding.pattern.text +
                            "` nor an axis of `" + decl.name + "`");
    diagnostic.at(decl.range, "gives " + listAxes(decl.to));
    if (anyAxis)
      diagnostic.note("axes stand before the parts, in the order of the map: `h q k v` is packed "
                      "head by head");
    else if (auto near = nearestName(word.text, words))
      diagnostic.help("did you mean `" + *near + "`?");
    else
      diagnostic.note("the parts are " + llvm::join(words, ", "));
    return std::nullopt;
  }
  for (const Path &path : linear.names)
    if (!seen.count(lastWord(path).str())) {
      error(DiagCode::SplitParts, binding.range,
            "`" + path.str() + "` is no part of the packed tensor")
          .at(path.range, "its part would be called `" + lastWord(path) + "`")
          .help("name all parts, in the order of the tensor: `split(\"" + binding.pattern.text +
                "\", q k v)`");
      return std::nullopt;
    }
  llvm::ArrayRef<Axis> rest = llvm::ArrayRef<Axis>(decl.to).drop_front(leading);
  Packing packing;
  int64_t groupSize = 0; // of all the parts beside each other
  for (const Decl *part : order) {
    bool sameLead = part->to.size() >= leading &&
                    std::equal(decl.to.begin(), decl.to.begin() + leading, part->to.begin());
    if (part != &decl && part->wrong)
      return std::nullopt;
    if (part->to.empty() || !sameLead) {
      error(DiagCode::SplitParts, binding.range,
            "the parts of a tensor that is packed by axis have this axis first")
          .at(part->range, "gives " + listAxes(part->to));
      return std::nullopt;
    }
    if (part == &decl)
      packing.offset = groupSize;
    groupSize = plus(groupSize, count(llvm::ArrayRef<Axis>(part->to).drop_front(leading)));
    if (sizesOf(part->from) != sizesOf(decl.from)) {
      error(DiagCode::SplitParts, binding.range,
            "the parts of a packed tensor take the same axes, but `" + decl.name + "` takes " +
                listAxes(decl.from) + " and `" + part->name + "` takes " + listAxes(part->from))
          .at(decl.range, "declared here")
          .at(part->range, "declared here");
      return std::nullopt;
    }
  }
  packing.strides = rowMajor(llvm::ArrayRef<Axis>(decl.to).take_front(leading), groupSize);
  llvm::append_range(packing.strides, rowMajor(rest, 1));
  packing.total = times(groupSize, count(llvm::ArrayRef<Axis>(decl.to).take_front(leading)));
  return packing;
}

std::optional<Sema::Packing> Sema::packing(const Decl &decl, const LinearDecl &linear,
                                           Scope &owned) {
  if (linear.binding.kind == Binding::Kind::Split)
    return splitPacking(decl, linear, owned);
  return Packing{count(decl.to), 0, rowMajor(decl.to, 1)};
}

ParamRef Sema::makeParam(const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                         llvm::StringRef pattern, llvm::ArrayRef<int64_t> shape, int64_t offset,
                         llvm::ArrayRef<int64_t> strides, bool optional, SourceRange range,
                         bool isTied) {
  ParamRef param;
  mlir::RankedTensorType type = tensorType(axes, range);
  if (!type)
    return param;
  bool perLayer = llvm::StringRef(pattern).contains("{n}");
  std::string key = (owner.symbolPrefix + path).str();
  auto sourceAttr =
      SourceAttr::get(&mlirContext, paramBuilder.getStringAttr(pattern), shape, offset, strides);
  if (auto it = params.find(key); it != params.end()) {
    if (it->second.type != type || it->second.source != sourceAttr) {
      error(DiagCode::ParameterOfTwoShapes, range,
            "`" + key + "` has two shapes, since its block is applied to different sizes")
          .note("a parameter has one shape: declare it in dims of the model");
      return param;
    }
    return it->second;
  }
  if (!isTied) {
    auto [place, first] = bindings.insert({{pattern.str(), offset}, {path.str(), range}});
    const auto &[otherPath, otherRange] = place->second;
    if (!first && !unapplied) {
      error(DiagCode::SharedBinding, range,
            "`" + path + "` is bound to the tensor `" + pattern + "`, as `" + otherPath + "` is")
          .at(otherRange, "bound to it here")
          .help("where both are one parameter, write `= tied(" +
                llvm::StringRef(otherPath).rsplit('.').first + ")`");
      return {};
    }
  }
  tensors += perLayer ? *owner.layers : 1;
  if (tensors > mostTensors) {
    error(DiagCode::SizeOverflow, range, "the parameters of this model are too many")
        .note("a model has at most " + llvm::Twine(mostTensors) +
              " tensors, those of each layer of a stack counted");
    return {};
  }
  param = {uniqueSymbol(key), type, perLayer, sourceAttr};
  headerHere();
  auto op = ParamOp::create(
      paramBuilder, locate(range, key), paramBuilder.getStringAttr(param.symbol),
      mlir::TypeAttr::get(type), sourceAttr,
      perLayer ? paramBuilder.getI64IntegerAttr(*owner.layers) : mlir::IntegerAttr(),
      optional ? paramBuilder.getUnitAttr() : mlir::UnitAttr());
  lastHeader = op;
  params[key] = param;
  return param;
}

mlir::Value Sema::getParam(const ParamRef &param, mlir::Location loc) {
  return GetOp::create(builder, loc, param.type,
                       mlir::FlatSymbolRefAttr::get(&mlirContext, param.symbol),
                       param.perLayer ? layer : mlir::Value());
}

void Sema::setUpLinear(Decl &decl, const Owner &owner, Scope &owned) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  if (decl.wrong)
    return;
  decl.wrong = true;
  bool conv1d = false;
  if (!checkLayouts(linear.binding, /*linear=*/true, conv1d))
    return;
  std::optional<Packing> pack = packing(decl, linear, owned);
  if (!pack)
    return;
  int64_t in = count(decl.from);
  if (!productOf({pack->total, in})) {
    error(DiagCode::SizeOverflow, linear.range, "`" + decl.name + "` has too many elements")
        .note(llvm::Twine(in) + " inputs, " + llvm::Twine(pack->total) + " outputs");
    return;
  }
  Axes axes = decl.to;
  for (Axis axis : decl.from) { // `D -> D`: the weight's axes are told apart
    while (findAxis(axes, axis.name) >= 0)
      axis.name += "'";
    axes.push_back(axis);
  }
  bool optional = linear.binding.optional;
  if (linear.binding.kind == Binding::Kind::Tied) {
    const ParamRef *target = tiedTarget(linear.binding, owned, decl);
    if (!target)
      return;
    mlir::RankedTensorType type = tensorType(axes, linear.range);
    if (!type)
      return;
    if (type.getShape() != target->type.getShape()) {
      error(DiagCode::BadTie, linear.binding.range,
            "`" + decl.name + "` is " + showAxes(axes) + ", but `" + linear.binding.tiedTo.str() +
                "` has another shape")
          .note("a linear map's weight has the axes given, then the axes taken")
          .note(whereSizes(axes));
      return;
    }
    decl.weight =
        makeParam(owner, decl.name + ".weight", axes, target->source.getPattern().getValue(),
                  target->source.getShape(), target->source.getOffset(),
                  target->source.getStrides(), optional, decl.range, /*isTied=*/true);
  } else {
    std::optional<std::string> name =
        tensorName(linear.binding, owner, decl.name, "weight", linear.names.size());
    if (!name)
      return;
    llvm::SmallVector<int64_t, 4> strides, shape;
    for (int64_t stride : pack->strides)
      strides.push_back(conv1d ? stride : stride * in);
    llvm::append_range(strides, rowMajor(decl.from, conv1d ? pack->total : 1));
    if (conv1d)
      shape = {in, pack->total};
    else if (decl.from.size() == 3) { // a convolution on patches
      shape = {pack->total};
      llvm::append_range(shape, sizesOf(decl.from));
    } else
      shape = {pack->total, in};
    decl.weight =
        makeParam(owner, decl.name + ".weight", axes, *name, shape,
                  conv1d ? pack->offset : pack->offset * in, strides, optional, decl.range);
  }
  if (!decl.weight.type)
    return;
  bool hasBias = linear.bias;
  if (linear.biasCondition) {
    std::optional<bool> condition = evalCondition(*linear.biasCondition);
    if (!condition)
      return;
    hasBias = *condition;
  }
  if (hasBias) {
    std::optional<std::string> name =
        tensorName(linear.binding, owner, decl.name, "bias", linear.names.size());
    if (!name)
      return;
    decl.bias = makeParam(owner, decl.name + ".bias", decl.to, *name, {pack->total}, pack->offset,
                          pack->strides, optional, decl.range);
    if (!decl.bias.type)
      return;
  }
  decl.wrong = false;
}

void Sema::setUpNorm(Decl &decl, const Owner &owner, Scope &owned) {
  auto &norm = *llvm::cast<NormDecl>(decl.item);
  if (decl.wrong)
    return;
  decl.wrong = true;
  bool conv1d = false;
  if (!checkLayouts(norm.binding, /*linear=*/false, conv1d))
    return;
  if (norm.binding.kind == Binding::Kind::Tied || norm.binding.kind == Binding::Kind::Split)
    return unsupported(norm.binding.range, "a norm that is split or tied");
  for (llvm::StringRef suffix : {"weight", "bias"}) {
    std::optional<std::string> name =
        tensorName(norm.binding, owner, decl.name, suffix, norm.names.size());
    if (!name)
      return;
    ParamRef param =
        makeParam(owner, decl.name + "." + suffix.str(), decl.from, *name, sizesOf(decl.from), 0,
                  rowMajor(decl.from, 1), norm.binding.optional, decl.range);
    if (!param.type)
      return;
    (suffix == "weight" ? decl.weight : decl.bias) = param;
  }
  decl.wrong = false;
}

/// Of a tensor of one axis, where parts lie one after the other.
ParamRef Sema::packedParam(Decl &decl, const Owner &owner, Scope &owned, const Binding &binding) {
  if (decl.kind != Decl::Kind::Param) {
    unsupported(binding.range, "an `embedding` that is a part of a packed tensor");
    return {};
  }
  if (!spend(binding.components.size(), binding.range))
    return {};
  const Scope::Parts &parts = owned.partsBeside(decl);
  int64_t total = 0;
  std::optional<int64_t> offset;
  for (const Name &word : binding.components) {
    auto part = parts.find(word.text);
    if (part == parts.end()) {
      std::vector<llvm::StringRef> words;
      for (const auto &known : parts)
        words.push_back(known.first());
      llvm::sort(words);
      error(DiagCode::SplitParts, word.range,
            "`" + word.text + "` is no part of `" + binding.pattern.text + "`")
          .note("the parts are " + llvm::join(words, ", "));
      return {};
    }
    if (part->second->wrong && part->second != &decl)
      return {};
    if (part->second == &decl)
      offset = total;
    total = plus(total, count(part->second->to));
  }
  if (!offset || parts.size() != binding.components.size()) {
    error(DiagCode::SplitParts, binding.range,
          "the parts of `" + binding.pattern.text + "` are named once each")
        .at(decl.range, "one of them");
    return {};
  }
  if (!productOf({total})) {
    error(DiagCode::SizeOverflow, binding.range,
          "`" + binding.pattern.text + "` has too many elements")
        .note("the most are 2^48");
    return {};
  }
  std::optional<std::string> name = tensorName(binding, owner, decl.name, "", 1);
  if (!name)
    return {};
  return makeParam(owner, decl.name, decl.to, *name, {total}, *offset, rowMajor(decl.to, 1),
                   binding.optional, decl.range);
}

ParamRef Sema::wholeParam(Decl &decl, const Owner &owner, Scope &owned, const Binding &binding,
                          llvm::StringRef suffix, unsigned names) {
  bool conv1d = false;
  if (!checkLayouts(binding, /*linear=*/false, conv1d))
    return {};
  if (binding.kind == Binding::Kind::Split)
    return packedParam(decl, owner, owned, binding);
  Axes axes = decl.from;
  llvm::append_range(axes, decl.to);
  std::string path = decl.name + (suffix.empty() ? "" : "." + suffix.str());
  if (binding.kind != Binding::Kind::Tied) {
    std::optional<std::string> name = tensorName(binding, owner, decl.name, suffix, names);
    if (!name)
      return {};
    return makeParam(owner, path, axes, *name, sizesOf(axes), 0, rowMajor(axes, 1),
                     binding.optional, decl.range);
  }
  const ParamRef *target = tiedTarget(binding, owned, decl);
  if (!target)
    return {};
  if (sizesOf(axes) != llvm::SmallVector<int64_t, 4>(target->type.getShape())) {
    error(DiagCode::BadTie, binding.range,
          "`" + decl.name + "` is " + showAxes(axes) + ", but `" + binding.tiedTo.str() +
              "` has another shape")
        .note(whereSizes(axes));
    return {};
  }
  return makeParam(owner, path, axes, target->source.getPattern().getValue(),
                   target->source.getShape(), target->source.getOffset(),
                   target->source.getStrides(), binding.optional, decl.range, /*isTied=*/true);
}

void Sema::setUpParam(Decl &decl, const Owner &owner, Scope &owned) {
  if (decl.wrong)
    return;
  size_t names = 0;
  for (const auto &group : llvm::cast<ParamDecl>(decl.item)->groups)
    if (&group.binding == decl.binding)
      names = group.names.size();
  decl.weight = wholeParam(decl, owner, owned, *decl.binding, "", names);
  decl.wrong = !decl.weight.type;
}

} // namespace attn::frontend
