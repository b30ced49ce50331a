// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: how one becomes the tensor of an entry.
#include "compiler/frontend/sema/Images.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Dims.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Types.h"

namespace attn::frontend {

using namespace ast;

static std::optional<std::vector<double>> imageChannels(Sema &sema,
                                                        const std::vector<ExprPtr> &values,
                                                        llvm::StringRef what, double byDefault) {
  if (values.empty())
    return std::vector<double>{byDefault};
  std::vector<double> numbers;
  for (const ExprPtr &value : values) {
    std::optional<double> number = evalNumber(sema, *value, "the " + what + " of a picture");
    if (!number)
      return std::nullopt;
    if (what == "std" && !(*number > 0)) {
      sema.report.error(DiagCode::ImageChannels, value->range,
                        "the standard deviation must be more than 0");
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void checkImage(Sema &sema) {
  if (!sema.names.image || !sema.names.image->resampling)
    return;
  llvm::StringRef filter = sema.names.image->resampling->text;
  if (filter == "nearest" || filter == "bilinear" || filter == "bicubic")
    return;
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::ImageFilter, sema.names.image->resampling->range,
                        "pictures cannot be resized by `" + filter + "`");
  if (auto near = nearestName(filter, {"nearest", "bilinear", "bicubic"}))
    diagnostic.help("did you mean `" + *near + "`?");
  else
    diagnostic.note("the ways are nearest, bilinear and bicubic");
}

mlir::DictionaryAttr imageAttr(Sema &sema, const EntryDecl &entry, const Parameter &parameter,
                               llvm::ArrayRef<Axis> axes) {
  sema.names.imageUsed = true;
  if (!declaredElement(sema.builder, parameter.type).isF32()) {
    sema.report
        .error(DiagCode::DtypePlace, parameter.type.range, "a picture becomes a tensor of f32")
        .at(sema.names.image->keyword, "the picture")
        .help("leave `" + parameter.type.word->text + "` out");
    return nullptr;
  }
  if (axes.size() < 3 || axes.size() > 4) {
    sema.report
        .error(DiagCode::ImageSize, parameter.type.range,
               "a picture becomes a tensor of channels, height and width, but this is " +
                   showAxes(axes))
        .at(sema.names.image->keyword, "the picture")
        .help("write `f32[B, C, Y, X]`");
    return nullptr;
  }
  const Axis &channels = axes[axes.size() - 3], &height = axes[axes.size() - 2],
             &width = axes.back();
  Size h = evalSize(sema, *sema.names.image->height), w = evalSize(sema, *sema.names.image->width);
  if (h.error || w.error)
    return nullptr;
  bool agree = h.isStatic() && w.isStatic() && h.offset == height.size && w.offset == width.size;
  if (!agree && !sema.options.sets.empty() && !height.isDynamic() && !width.isDynamic()) {
    // Other sizes were asked for: the picture follows.
    sema.report.warning(DiagCode::ImageSize,
                        sema.names.image->height->range.to(sema.names.image->width->range),
                        "pictures are resized to " + llvm::Twine(height.size) + " x " +
                            llvm::Twine(width.size) + ", as --set makes the tensor");
    h = Size::of(height.size);
    w = Size::of(width.size);
  } else if (!agree) {
    auto size = [](const Axis &axis) {
      return axis.isDynamic() ? "unknown" : std::to_string(axis.size);
    };
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::ImageSize, sema.names.image->height->range.to(sema.names.image->width->range),
        "the picture is " + llvm::Twine(h.offset) + " high and " + llvm::Twine(w.offset) +
            " wide, but the tensor is " + size(height) + " high and " + size(width) + " wide");
    diagnostic.at(parameter.type.range, "this is " + showAxes(axes));
    if (std::string where = whereSizes(sema, {height, width}); !where.empty())
      diagnostic.note(where);
    if (!height.isDynamic() && !width.isDynamic())
      diagnostic.help("write `image input " + size(height) + " x " + size(width) + "`");
    else
      diagnostic.note("pictures have one size, known when compiling");
    return nullptr;
  }
  if (channels.size != 1 && channels.size != 3) {
    sema.report
        .error(DiagCode::ImageChannels, parameter.type.range,
               "a picture has 1 or 3 channels, but the axis `" + channels.name + "` has " +
                   (channels.isDynamic() ? std::string("an unknown number")
                                         : std::to_string(channels.size)))
        .at(sema.names.image->keyword, "the picture");
    return nullptr;
  }
  std::optional<std::vector<double>> mean = imageChannels(sema, sema.names.image->mean, "mean", 0),
                                     std = imageChannels(sema, sema.names.image->std, "std", 1);
  if (!mean || !std)
    return nullptr;
  for (auto &[numbers, exprs, what] : {std::tuple{&*mean, &sema.names.image->mean, "mean"},
                                       {&*std, &sema.names.image->std, "std"}})
    if (numbers->size() != 1 && static_cast<int64_t>(numbers->size()) != channels.size) {
      sema.report
          .error(DiagCode::ImageChannels, exprs->front()->range.to(exprs->back()->range),
                 llvm::Twine(what) + " has " + llvm::Twine(numbers->size()) +
                     " numbers, but the picture has " + llvm::Twine(channels.size) +
                     (channels.size == 1 ? " channel" : " channels"))
          .note("one number stands for all channels");
      return nullptr;
    }
  auto floats = [&](const std::vector<double> &numbers) {
    llvm::SmallVector<mlir::Attribute> attrs;
    for (double number : numbers)
      attrs.push_back(sema.builder.getF32FloatAttr(static_cast<float>(number)));
    return sema.builder.getArrayAttr(attrs);
  };
  return sema.builder.getDictionaryAttr(
      {sema.builder.getNamedAttr("filter",
                                 sema.builder.getStringAttr(sema.names.image->resampling
                                                                ? sema.names.image->resampling->text
                                                                : "bicubic")),
       sema.builder.getNamedAttr("height", sema.builder.getI64IntegerAttr(h.offset)),
       sema.builder.getNamedAttr("mean", floats(*mean)),
       sema.builder.getNamedAttr("std", floats(*std)),
       sema.builder.getNamedAttr("width", sema.builder.getI64IntegerAttr(w.offset))});
}

} // namespace attn::frontend
