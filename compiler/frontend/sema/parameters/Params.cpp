// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters: their types, and where their elements are in the checkpoint's tensors.
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Lookups.h"
#include "compiler/frontend/sema/parameters/Bindings.h"
#include "compiler/frontend/sema/parameters/CheckpointParams.h"
#include "compiler/frontend/sema/parameters/Packing.h"
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

namespace attn::frontend {

using namespace ast;

static void setUpLinear(Sema &sema, Decl &decl, const Owner &owner, Scope &scope);

static void setUpNorm(Sema &sema, Decl &decl, const Owner &owner, Scope &scope);

static void setUpParam(Sema &sema, Decl &decl, const Owner &owner, Scope &scope);

/// PyTorch's `eps` of a norm, and what it is for.
static std::pair<double, std::string> epsOf(NormDecl::Norm norm) {
  constexpr char root[] = ", of which the square root is taken";
  switch (norm) {
  case NormDecl::Norm::Layer:
    return {1e-5, "it is added to the variance" + std::string(root)};
  case NormDecl::Norm::RootMeanSquare:
    return {0x1p-23, "it is added to the mean square" + std::string(root)};
  case NormDecl::Norm::Euclidean:
    return {1e-12, "a row whose length is less is divided by it"};
  }
  llvm_unreachable("all norms have an eps");
}

/// The numbers of a norm, `eps` and `offset`; false after an error.
static bool readNumbers(Sema &sema, const NormDecl &norm, Decl &decl) {
  std::string use;
  std::tie(decl.eps, use) = epsOf(norm.norm);
  bool isRight = true;
  if (norm.eps) {
    std::optional<double> eps = evalNumber(sema, *norm.eps, "`eps`");
    isRight = eps && *eps >= 0;
    if (eps && *eps < 0)
      sema.report
          .error(DiagCode::NormNumbers, norm.eps->range,
                 "`eps` is at least 0, but `" + sema.source.text(norm.eps->range) + "` is less")
          .note(use);
    decl.eps = eps.value_or(0);
  }
  if (!norm.offset)
    return isRight;
  if (norm.lacks("weight")) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::NormNumbers, norm.offset->range,
                          "an offset is added to the weights, but `" + decl.name + "` has none");
    if (NormDecl::mayHave(norm.norm, "weight"))
      diagnostic.at(norm.without.front().range, "said here");
    else
      diagnostic.note("a norm that is declared by `" + NormDecl::wordOf(norm.norm).str() +
                      "` has no weights");
  }
  std::optional<double> offset = evalNumber(sema, *norm.offset, "`offset`");
  decl.offset = offset.value_or(0);
  return isRight && offset && !norm.lacks("weight");
}

/// Whether a linear map along an axis gives no axis, `K -> _ along C`.
static bool givesNothing(const LinearDecl &linear) {
  auto *path = linear.to.size() == 1 ? llvm::dyn_cast<PathExpr>(linear.to[0].get()) : nullptr;
  return path && !linear.along.empty() && path->path.str() == "_";
}

/// Whether the axes of a linear map along others are all different; else it is reported.
static bool areApart(Sema &sema, const Decl &decl, const LinearDecl &linear) {
  Axes all = decl.along;
  llvm::append_range(all, decl.from);
  llvm::append_range(all, decl.to);
  for (size_t i = 0; i < all.size(); ++i)
    if (findAxis(all, all[i].name) != static_cast<int>(i)) {
      sema.report
          .error(DiagCode::DuplicateAxis, linear.range,
                 "the axis `" + all[i].name + "` appears twice in a linear map along axes")
          .help(helpForSecond(sema, all[i].name));
      return false;
    }
  return true;
}

static void setUpShapes(Sema &sema, Scope &owned) {
  for (Decl *decl : owned.order) {
    auto read = [&](const std::vector<ExprPtr> &exprs, SourceRange range, Axes &axes) {
      std::optional<Axes> found = axesOf(sema, exprs, range);
      decl->wrong |= !found;
      axes = found.value_or(Axes());
      for (const Axis &axis : axes)
        if (axis.isDynamic()) {
          sema.report.error(DiagCode::DynamicAxis, range,
                            "the axis `" + axis.name +
                                "` of a parameter is known only when running");
          decl->wrong = true;
        }
    };
    if (decl->kind == Decl::Kind::Linear) {
      auto &linear = *llvm::cast<LinearDecl>(decl->item);
      read(linear.from, linear.range, decl->from);
      read(linear.along, linear.range, decl->along);
      if (!givesNothing(linear))
        read(linear.to, linear.range, decl->to);
      decl->wrong |= !decl->along.empty() && !areApart(sema, *decl, linear);
    } else if (decl->kind == Decl::Kind::Embedding) {
      auto &embedding = *llvm::cast<EmbeddingDecl>(decl->item);
      read(embedding.from, embedding.range, decl->from);
      read(embedding.to, embedding.range, decl->to);
    } else if (decl->kind == Decl::Kind::Table) {
      setUpTable(sema, *decl);
    } else if (decl->kind == Decl::Kind::Norm) {
      auto &norm = *llvm::cast<NormDecl>(decl->item);
      read(norm.dims, norm.range, decl->from);
      decl->wrong |= !readNumbers(sema, norm, *decl);
    } else if (decl->kind == Decl::Kind::Param) {
      std::optional<Axes> axes = typeAxes(sema, *decl->type, "a parameter", TypePlace::Param);
      read(decl->type->dims, decl->type->range, decl->to);
      decl->wrong |= !axes;
    }
  }
}

void setUpParameters(Sema &sema, Scope &owned, const Owner &owner) {
  setUpShapes(sema, owned);
  // Tied parameters last: what they are tied to is there then.
  for (bool tied : {false, true})
    for (Decl *decl : owned.order) {
      if (!decl->binding || (decl->binding->kind == Binding::Kind::Tied) != tied)
        continue;
      if (decl->kind == Decl::Kind::Linear)
        setUpLinear(sema, *decl, owner, owned);
      else if (decl->kind == Decl::Kind::Embedding)
        setUpEmbedding(sema, *decl, owner, owned);
      else if (decl->kind == Decl::Kind::Norm)
        setUpNorm(sema, *decl, owner, owned);
      else if (decl->kind == Decl::Kind::Param)
        setUpParam(sema, *decl, owner, owned);
    }
}

/// The axes of a linear map's weight: those given, then those taken. Of `D -> D` they are told
/// apart.
static Axes weightAxes(const Decl &decl) {
  Axes axes = decl.to;
  for (Axis axis : decl.from) {
    while (findAxis(axes, axis.name) >= 0)
      axis.name += "'";
    axes.push_back(axis);
  }
  return axes;
}

/// The weight of a linear map that is tied to another parameter; without a type after an error.
static ParamRef tiedWeight(Sema &sema, const Decl &decl, const Owner &owner, Scope &owned) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  const ParamRef *target = tiedTarget(sema, linear.binding, owned, decl);
  if (!target)
    return {};
  Axes axes = weightAxes(decl);
  mlir::RankedTensorType type = tensorType(sema, axes, linear.range);
  if (!type)
    return {};
  if (type.getShape() != target->type.getShape()) {
    sema.report
        .error(DiagCode::BadTie, linear.binding.range,
               "`" + decl.name + "` is " + showAxes(axes) + ", but `" +
                   linear.binding.tiedTo.str() + "` is " + showAxes(axesOfType(target->type)))
        .note("a linear map's weight has the axes given, then the axes taken")
        .note(whereSizes(sema, axes));
    return {};
  }
  return tiedParam(sema, owner, decl.name + ".weight", axes, *target, linear.binding.optional,
                   decl.range);
}

/// The weight of a linear map in its tensor, which `conv1d` says is stored transposed; without a
/// type after an error.
static ParamRef boundWeight(Sema &sema, const Decl &decl, const Owner &owner, const Packing &pack,
                            bool conv1d) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  std::optional<std::string> name =
      tensorName(sema, linear.binding, owner, decl.name, "weight", linear.names.size());
  if (!name)
    return {};
  int64_t in = count(decl.from);
  llvm::SmallVector<int64_t, 4> strides, shape;
  for (int64_t stride : pack.strides)
    strides.push_back(conv1d ? stride : stride * in);
  llvm::append_range(strides, rowMajor(decl.from, conv1d ? pack.total : 1));
  bool isPart =
      linear.binding.kind == Binding::Kind::Split || linear.binding.kind == Binding::Kind::Slice;
  if (conv1d) { // that of a transposed convolution has each axis given
    shape = {in};
    llvm::append_range(shape,
                       isPart ? llvm::SmallVector<int64_t, 4>{pack.total} : sizesOf(decl.to));
  } else if (decl.from.size() == 3) { // a convolution on patches
    shape = {pack.total};
    llvm::append_range(shape, sizesOf(decl.from));
  } else
    shape = {pack.total, in};
  return makeParam(sema, owner, decl.name + ".weight", weightAxes(decl), *name, shape,
                   conv1d ? pack.offset : pack.offset * in, strides, linear.binding.optional,
                   decl.range);
}

/// The weight of a linear map along axes, [taken..., along..., given...], of the checkpoint's
/// [along * given, taken...], or of [along * taken, given] where that is stored transposed; without
/// a type after an error.
static ParamRef weightAlong(Sema &sema, const Decl &decl, const Owner &owner, const Packing &pack) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  if (linear.binding.kind == Binding::Kind::Tied) {
    sema.report
        .error(DiagCode::BindingPlace, linear.binding.range,
               "a linear map along axes has a tensor of its own")
        .help("write where it is: `= \"path\"`");
    return {};
  }
  std::optional<std::string> name =
      tensorName(sema, linear.binding, owner, decl.name, "weight", linear.names.size());
  if (!name)
    return {};
  const Axes &columns = columnAxes(decl);
  int64_t width = count(columns);
  llvm::SmallVector<int64_t, 4> shape{pack.total};
  llvm::append_range(shape, sizesOf(columns));
  llvm::SmallVector<int64_t, 4> ofRows, ofColumns = rowMajor(columns, 1), strides;
  for (int64_t stride : pack.strides)
    ofRows.push_back(stride * width);
  auto along = llvm::ArrayRef<int64_t>(ofRows).take_front(decl.along.size()),
       within = llvm::ArrayRef<int64_t>(ofRows).drop_front(decl.along.size());
  bool isTurned = &columns == &decl.to;
  llvm::append_range(strides, isTurned ? within : llvm::ArrayRef<int64_t>(ofColumns));
  llvm::append_range(strides, along);
  llvm::append_range(strides, isTurned ? llvm::ArrayRef<int64_t>(ofColumns) : within);
  Axes axes = decl.from;
  llvm::append_range(axes, decl.along);
  llvm::append_range(axes, decl.to);
  return makeParam(sema, owner, decl.name + ".weight", axes, *name, shape, pack.offset * width,
                   strides, linear.binding.optional, decl.range);
}

/// Sets up the bias of a linear map where it has one; false after an error.
static bool setUpBias(Sema &sema, Decl &decl, const Owner &owner, const Packing &pack) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  bool hasBias = linear.bias;
  if (linear.biasCondition) {
    std::optional<bool> condition = evalCondition(sema, *linear.biasCondition);
    if (!condition)
      return false;
    hasBias = *condition;
  }
  if (!hasBias)
    return true;
  std::optional<std::string> name =
      tensorName(sema, linear.binding, owner, decl.name, "bias", linear.names.size());
  if (!name)
    return false;
  Axes axes = decl.along;
  llvm::append_range(axes, decl.to);
  if (&columnAxes(decl) == &decl.to) { // the rows of the weight are not those of the bias
    bool isPart =
        linear.binding.kind == Binding::Kind::Split || linear.binding.kind == Binding::Kind::Slice;
    if (isPart) {
      sema.report.error(DiagCode::BindingPlace, linear.binding.range,
                        "a part of a packed tensor that is stored transposed has no bias");
      return false;
    }
    decl.bias = makeParam(sema, owner, decl.name + ".bias", axes, *name, {count(axes)}, 0,
                          rowMajor(axes, 1), linear.binding.optional, decl.range);
    return static_cast<bool>(decl.bias.type);
  }
  decl.bias = makeParam(sema, owner, decl.name + ".bias", axes, *name, {pack.total}, pack.offset,
                        pack.strides, linear.binding.optional, decl.range);
  return static_cast<bool>(decl.bias.type);
}

static void setUpLinear(Sema &sema, Decl &decl, const Owner &owner, Scope &owned) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  if (decl.wrong)
    return;
  decl.wrong = true;
  bool conv1d = false;
  if (!checkLayouts(sema.report, linear.binding, /*linear=*/true, conv1d))
    return;
  std::optional<Packing> pack = packing(sema, decl, linear, owned);
  if (!pack)
    return;
  int64_t in = count(columnAxes(decl));
  if (!productOf({pack->total, in})) {
    sema.report
        .error(DiagCode::SizeOverflow, linear.range, "`" + decl.name + "` has too many elements")
        .note(llvm::Twine(in) + " inputs, " + llvm::Twine(pack->total) + " outputs");
    return;
  }
  decl.weight = !decl.along.empty() ? weightAlong(sema, decl, owner, *pack)
                : linear.binding.kind == Binding::Kind::Tied
                    ? tiedWeight(sema, decl, owner, owned)
                    : boundWeight(sema, decl, owner, *pack, conv1d);
  decl.wrong = !decl.weight.type || !setUpBias(sema, decl, owner, *pack);
}

static void setUpNorm(Sema &sema, Decl &decl, const Owner &owner, Scope &owned) {
  auto &norm = *llvm::cast<NormDecl>(decl.item);
  if (decl.wrong)
    return;
  decl.wrong = true;
  bool conv1d = false;
  if (!checkLayouts(sema.report, norm.binding, /*linear=*/false, conv1d))
    return;
  if (norm.binding.kind == Binding::Kind::Tied || norm.binding.kind == Binding::Kind::Split ||
      norm.binding.kind == Binding::Kind::Slice) {
    Diagnostic &diagnostic = sema.report.error(DiagCode::BindingPlace, norm.binding.range,
                                               "a norm has tensors of its own");
    if (norm.binding.kind == Binding::Kind::Tied)
      diagnostic.help("apply the other norm itself: its parameters are the same then");
    else
      diagnostic.help("write where they are: `= \"path\"`");
    return;
  }
  if (norm.lacks("weight") && norm.lacks("bias") && norm.binding.kind == Binding::Kind::String) {
    sema.report.error(DiagCode::UnknownBinding, norm.binding.range,
                      "`" + decl.name + "` has no parameters that a checkpoint could hold");
    return;
  }
  for (llvm::StringRef suffix : {"weight", "bias"}) {
    if (norm.lacks(suffix))
      continue;
    std::optional<std::string> name =
        tensorName(sema, norm.binding, owner, decl.name, suffix, norm.names.size());
    if (!name)
      return;
    ParamRef param =
        makeParam(sema, owner, decl.name + "." + suffix.str(), decl.from, *name, sizesOf(decl.from),
                  0, rowMajor(decl.from, 1), norm.binding.optional, decl.range);
    if (!param.type)
      return;
    (suffix == "weight" ? decl.weight : decl.bias) = param;
  }
  decl.wrong = false;
}

/// A parameter that is a part of a tensor of one axis, where parts lie one after the other.
static ParamRef packedParam(Sema &sema, Decl &decl, const Owner &owner, Scope &owned,
                            const Binding &binding) {
  if (decl.kind != Decl::Kind::Param) {
    sema.report
        .error(DiagCode::BindingPlace, binding.range,
               "the rows of an embedding are a tensor, or some rows of one")
        .help("write `= slice(\"path\", 0 to 100)`");
    return {};
  }
  if (!spend(sema, binding.components.size(), binding.range))
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
      sema.report
          .error(DiagCode::SplitParts, word.range,
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
    sema.report
        .error(DiagCode::SplitParts, binding.range,
               "the parts of `" + binding.pattern.text + "` are named once each")
        .at(decl.range, "one of them");
    return {};
  }
  if (!productOf({total})) {
    sema.report
        .error(DiagCode::SizeOverflow, binding.range,
               "`" + binding.pattern.text + "` has too many elements")
        .note("the most are 2^48");
    return {};
  }
  std::optional<std::string> name = tensorName(sema, binding, owner, decl.name, "", 1);
  if (!name)
    return {};
  return makeParam(sema, owner, decl.name, decl.to, *name, {total}, *offset, rowMajor(decl.to, 1),
                   binding.optional, decl.range);
}

ParamRef wholeParam(Sema &sema, Decl &decl, const Owner &owner, Scope &owned,
                    const Binding &binding, llvm::StringRef suffix, unsigned names) {
  bool conv1d = false;
  if (!checkLayouts(sema.report, binding, /*linear=*/false, conv1d))
    return {};
  if (binding.kind == Binding::Kind::Split)
    return packedParam(sema, decl, owner, owned, binding);
  Axes axes = decl.from;
  llvm::append_range(axes, decl.to);
  std::string path = decl.name + (suffix.empty() ? "" : "." + suffix.str());
  if (binding.kind != Binding::Kind::Tied) {
    std::optional<std::string> name = tensorName(sema, binding, owner, decl.name, suffix, names);
    if (!name)
      return {};
    llvm::SmallVector<int64_t, 4> shape = sizesOf(axes), strides = rowMajor(axes, 1);
    int64_t offset = 0;
    if (binding.kind == Binding::Kind::Slice) {
      std::optional<RowsOfTensor> rows = slicedRows(sema, decl, shape.front(), owned);
      if (!rows)
        return {};
      shape.front() = rows->total;
      offset = rows->offset * strides.front();
    }
    return makeParam(sema, owner, path, axes, *name, shape, offset, strides, binding.optional,
                     decl.range);
  }
  const ParamRef *target = tiedTarget(sema, binding, owned, decl);
  if (!target)
    return {};
  if (sizesOf(axes) != llvm::SmallVector<int64_t, 4>(target->type.getShape())) {
    sema.report
        .error(DiagCode::BadTie, binding.range,
               "`" + decl.name + "` is " + showAxes(axes) + ", but `" + binding.tiedTo.str() +
                   "` is " + showAxes(axesOfType(target->type)))
        .note(whereSizes(sema, axes));
    return {};
  }
  return tiedParam(sema, owner, path, axes, *target, binding.optional, decl.range);
}

static void setUpParam(Sema &sema, Decl &decl, const Owner &owner, Scope &owned) {
  if (decl.wrong)
    return;
  size_t names = 0;
  for (const auto &group : llvm::cast<ParamDecl>(decl.item)->groups)
    if (&group.binding == decl.binding)
      names = group.names.size();
  decl.weight = wholeParam(sema, decl, owner, owned, *decl.binding, "", names);
  decl.wrong = !decl.weight.type;
}

} // namespace attn::frontend
