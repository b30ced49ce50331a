// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: how one becomes the tensor of an entry.
#include "compiler/frontend/sema/entries/Images.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Types.h"

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

static constexpr llvm::StringRef filters[] = {"nearest", "bilinear", "bicubic",
                                              "lanczos", "box",      "hamming"};

/// Whether an entry takes what is called so.
static bool takes(const EntryDecl &entry, llvm::StringRef name) {
  return llvm::any_of(entry.signature.parameters,
                      [&](const Parameter &parameter) { return parameter.name.text == name; });
}

/// Reports pictures in prompts that no entry sees, or no entry takes.
static void checkPrompt(Sema &sema, const Name &mark) {
  bool isSeen = false, isTaken = false;
  for (const ItemPtr &item : sema.names.model->items)
    if (auto *entry = llvm::dyn_cast<EntryDecl>(item.get())) {
      isTaken |= takes(*entry, "seen") && takes(*entry, "picked");
      isSeen |= takes(*entry, "image") &&
                llvm::any_of(entry->signature.resultNames, [](const std::optional<Name> &name) {
                  return name && name->text == "seen";
                });
    }
  if (!isSeen)
    sema.report
        .error(DiagCode::ImagePrompt, mark.range,
               "no entry gives the rows of a picture in a prompt")
        .help("name the result of the entry that takes `image`: `-> seen: [N, D]`");
  else if (!isTaken)
    sema.report
        .error(DiagCode::ImagePrompt, mark.range, "no entry takes the rows of pictures in a prompt")
        .help("the entry that takes the tokens takes `seen: [R, D]` and `picked: i32[B, T]`, too");
}

void checkImage(Sema &sema) {
  if (sema.names.image && sema.names.image->mark)
    checkPrompt(sema, *sema.names.image->mark);
  if (!sema.names.image || !sema.names.image->resampling)
    return;
  llvm::StringRef filter = sema.names.image->resampling->text;
  if (llvm::is_contained(filters, filter))
    return;
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::ImageFilter, sema.names.image->resampling->range,
                        "pictures cannot be resized by `" + filter + "`");
  if (auto near = nearestName(filter, filters))
    diagnostic.didYouMean(*near);
  else
    diagnostic.note("the ways are nearest, bilinear, bicubic, lanczos, box and hamming");
}

/// Larger pictures are refused by the runtime.
static constexpr int64_t maxPicturePixels = 100'000'000;

namespace {
/// The size that pictures get.
struct PictureSize {
  int64_t height, width;
  int64_t declared; ///< the height that the model says
};

/// What pictures are resized to before their middle is taken; 0: the whole picture is. Without a
/// width, `height` is that of the shorter edge.
struct ResizedSize {
  int64_t height = 0, width = 0;
};
} // namespace

/// The size that the model gives pictures, which is that of the tensor; nothing where it was
/// reported to be another.
static std::optional<PictureSize> pictureSize(Sema &sema, const ImageDecl &image,
                                              const Parameter &parameter,
                                              llvm::ArrayRef<Axis> axes) {
  const Axis &height = axes[axes.size() - 2], &width = axes.back();
  Size h = evalSize(sema, *image.height), w = evalSize(sema, *image.width);
  if (h.error || w.error)
    return std::nullopt;
  if (h.isStatic() && w.isStatic() && h.offset == height.size && w.offset == width.size)
    return PictureSize{h.offset, w.offset, h.offset};
  SourceRange place = image.height->range.to(image.width->range);
  bool isDynamic = height.isDynamic() || width.isDynamic();
  if (!sema.options.sets.empty() && !isDynamic) {
    // Other sizes were asked for: the picture follows.
    sema.report.warning(DiagCode::ImageSize, place,
                        "pictures are resized to " + llvm::Twine(height.size) + " x " +
                            llvm::Twine(width.size) + ", as --set makes the tensor");
    return PictureSize{height.size, width.size, h.isStatic() ? h.offset : height.size};
  }
  auto size = [](const Axis &axis) {
    return axis.isDynamic() ? "unknown" : std::to_string(axis.size);
  };
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::ImageSize, place,
      "the picture is " + llvm::Twine(h.offset) + " high and " + llvm::Twine(w.offset) +
          " wide, but the tensor is " + size(height) + " high and " + size(width) + " wide");
  diagnostic.at(parameter.type.range, "this is " + showAxes(axes));
  if (std::string where = whereSizes(sema, {height, width}); !where.empty())
    diagnostic.note(where);
  if (!isDynamic)
    diagnostic.help(
        "write `image input " + size(height) + " x " + size(width) + "`",
        Edit{image.height->range.to(image.width->range), size(height) + " x " + size(width)});
  else
    diagnostic.note("pictures have one size, known when compiling");
  return std::nullopt;
}

/// What `from` says; nothing after an error.
static std::optional<ResizedSize> resizedSize(Sema &sema, const ImageDecl &image,
                                              const PictureSize &picture) {
  ResizedSize resized;
  if (!image.fromHeight)
    return resized;
  auto read = [&](const Expr &expr, int64_t least, int64_t &size) {
    Size value = evalSize(sema, expr);
    if (value.error)
      return false;
    // Where `--set` gives the picture another size, this one follows.
    if (value.isStatic() && picture.declared > 0)
      size = value.offset * picture.height / picture.declared;
    if (value.isStatic() && size >= least && size <= 65536)
      return true;
    sema.report
        .error(DiagCode::ImageSize, expr.range,
               "the middle that is taken is larger than what the picture is resized to, or "
               "this is no size known when compiling")
        .note("expected " + llvm::Twine(least) + " to 65536");
    return false;
  };
  bool isPadded = image.fit && image.fit->text == "padded";
  int64_t height = isPadded ? 1 : picture.height, width = isPadded ? 1 : picture.width;
  if (!read(*image.fromHeight, image.fromWidth ? height : std::max(height, width),
            resized.height) ||
      (image.fromWidth && !read(*image.fromWidth, width, resized.width)))
    return std::nullopt;
  return resized;
}

/// Whether `numbers` are one for each channel or one for all; reports where they are not.
static bool checkChannels(Reporter &report, const std::vector<double> &numbers,
                          const std::vector<ExprPtr> &exprs, llvm::StringRef what,
                          const Axis &channels) {
  if (numbers.size() == 1 || static_cast<int64_t>(numbers.size()) == channels.size)
    return true;
  report
      .error(DiagCode::ImageChannels, exprs.front()->range.to(exprs.back()->range),
             what + " has " + llvm::Twine(numbers.size()) + " numbers, but the picture has " +
                 llvm::Twine(channels.size) + (channels.size == 1 ? " channel" : " channels"))
      .note("one number stands for all channels");
  return false;
}

/// What `patches` or `tiles` says of pictures that are cut: adds its numbers. False after an error.
static bool addPieces(Sema &sema, const ImageDecl &image, const Parameter &parameter,
                      llvm::ArrayRef<Axis> axes, llvm::SmallVectorImpl<mlir::NamedAttribute> &to) {
  bool hasTiles = image.fit && image.fit->text == "tiles";
  llvm::StringRef pieces = hasTiles ? "tiles" : "patches";
  if (!image.merged && !hasTiles)
    return true;
  if (axes.size() != 4 || !axes.front().isDynamic()) {
    sema.report
        .error(DiagCode::ImageSize, parameter.type.range,
               "a picture of unknown size becomes " + pieces +
                   ", along an axis that is known only when running, but this is " + showAxes(axes))
        .at(image.keyword, "the picture")
        .help(hasTiles ? "write `f32[N, C, Y, X]`, with `dyn N <= 65`"
                       : "write `f32[4*N, C, P, Q]`, with `dyn N <= 4096`");
    return false;
  }
  struct {
    const Expr *expr;
    llvm::StringRef key;
    int64_t least, most;
  } numbers[] = {{image.merged.get(), "merged", 1, 16},
                 {image.edge.get(), "edge", 1, 4096},
                 {image.leastTiles.get(), "least_tiles", 1, 1024},
                 {image.mostTiles.get(), "most_tiles", 1, 1024},
                 {image.leastPixels.get(), "least_pixels", 1, maxPicturePixels},
                 {image.mostPixels.get(), "most_pixels", 1, maxPicturePixels}};
  if (!image.edge && !(image.merged ? image.mostPixels : image.mostTiles))
    return false;
  for (auto [n, number] : llvm::enumerate(numbers)) {
    if (!number.expr)
      continue;
    Size size = evalSize(sema, *number.expr);
    if (size.error)
      return false;
    if (!size.isStatic() || size.offset < number.least || size.offset > number.most) {
      sema.report
          .error(DiagCode::ImageSize, number.expr->range,
                 "this is no number that " + pieces + " of a picture can have")
          .note("expected " + llvm::Twine(number.least) + " to " + llvm::Twine(number.most) +
                ", known when compiling");
      return false;
    }
    if (number.key.starts_with("least"))
      numbers[n + 1].least = size.offset;
    to.push_back(
        sema.builder.getNamedAttr(number.key, sema.builder.getI64IntegerAttr(size.offset)));
  }
  return true;
}

/// The piece of a text within `{` and `}`, where there is one; else nothing.
static llvm::StringRef rowOf(llvm::StringRef text) {
  auto [front, rest] = text.split('{');
  auto [row, behind] = rest.split('}');
  bool isOne =
      text.count('{') == 1 && text.count('}') == 1 && rest.contains('}') && !front.contains('}');
  return isOne ? row : "";
}

/// A text of a tile without the numbers of its line and column.
static std::string withoutNumbers(std::string text) {
  for (llvm::StringRef number : {"{row}", "{column}"})
    for (size_t at; (at = text.find(number)) != std::string::npos;)
      text.erase(at, number.size());
  return text;
}

/// Whether what `tile`, `line` and `whole` say is of pictures in tiles, and of the same token.
static bool checkTiles(Sema &sema, const ImageDecl &image, llvm::StringRef row) {
  auto refuse = [&](const Name &written, const llvm::Twine &what, const llvm::Twine &help) {
    sema.report.error(DiagCode::ImagePrompt, written.range, what).help(help.str());
    return false;
  };
  const std::optional<Name> *first = image.tile   ? &image.tile
                                     : image.line ? &image.line
                                                  : &image.whole;
  bool isOfPatches = image.merged && !image.tile && !image.whole; // `line` alone
  if (!*first || isOfPatches)
    return true;
  if (!image.fit || image.fit->text != "tiles")
    return refuse(**first, "this is of pictures that are cut into tiles",
                  "write `tiles 1 to 12`, or `tiles of 2048 pixels`, behind the size");
  if (!image.tile || !image.whole)
    return refuse(**first, "this does not say what tiles and the whole picture become",
                  "write both: `tile \"<row_{row}_col_{column}>{" + row + "}\" whole \"{" + row +
                      "}\"`");
  for (const std::optional<Name> *text : {&image.tile, &image.whole})
    if (rowOf(text == &image.tile ? withoutNumbers((*text)->text) : (*text)->text) != row)
      return refuse(**text, "this does not say where the rows of the picture stand",
                    "write `{" + row + "}` into it, once");
  return true;
}

/// What `prompt` says of the place of a picture in a prompt. False after an error.
static bool addPrompt(Sema &sema, const ImageDecl &image,
                      llvm::SmallVectorImpl<mlir::NamedAttribute> &to) {
  if (!image.mark)
    return true;
  std::string shown = image.shown ? image.shown->text : "{" + image.mark->text + "}",
              alone = image.alone ? image.alone->text : image.mark->text;
  auto refuse = [&](const Name &written, const llvm::Twine &what, const llvm::Twine &help) {
    sema.report.error(DiagCode::ImagePrompt, written.range, what).help(help.str());
    return false;
  };
  if (image.mark->text.empty())
    return refuse(*image.mark, "the mark of a picture is empty",
                  "write what stands for a picture in prompts: `\"<image>\"`");
  if (rowOf(shown).empty())
    return refuse(image.shown ? *image.shown : *image.mark,
                  "this does not say which token is repeated for each row of a picture",
                  "put it within `{` and `}`, once: `\"<start>{<image>}<end>\"`");
  if (!llvm::StringRef(alone).contains(image.mark->text))
    return refuse(*image.alone, "this has no mark of a picture",
                  "write `" + image.mark->text + "` into it");
  if (!checkTiles(sema, image, rowOf(shown)))
    return false;
  auto add = [&](llvm::StringRef key, llvm::StringRef text) {
    to.push_back(sema.builder.getNamedAttr(key, sema.builder.getStringAttr(text)));
  };
  add("mark", image.mark->text), add("shown", shown), add("alone", alone);
  for (auto [key, text] : {std::pair("tile", &image.tile),
                           {"line", &image.line},
                           {"whole", &image.whole},
                           {"begin", &image.begin},
                           {"end", &image.end}})
    if (*text)
      add(key, (*text)->text);
  return true;
}

mlir::DictionaryAttr imageAttr(Sema &sema, const EntryDecl &entry, const Parameter &parameter,
                               llvm::ArrayRef<Axis> axes) {
  sema.names.imageUsed = true;
  const ImageDecl &image = *sema.names.image;
  if (!declaredElement(sema.builder, parameter.type).isF32()) {
    sema.report
        .error(DiagCode::DtypePlace, parameter.type.range, "a picture becomes a tensor of f32")
        .at(image.keyword, "the picture")
        .help("leave `" + parameter.type.word->text + "` out",
              Edit{parameter.type.word->range, ""});
    return nullptr;
  }
  if (axes.size() < 3 || axes.size() > 4) {
    sema.report
        .error(DiagCode::ImageSize, parameter.type.range,
               "a picture becomes a tensor of channels, height and width, but this is " +
                   showAxes(axes))
        .at(image.keyword, "the picture")
        .help("write `f32[B, C, Y, X]`");
    return nullptr;
  }
  std::optional<PictureSize> size = pictureSize(sema, image, parameter, axes);
  if (!size)
    return nullptr;
  std::optional<ResizedSize> resized = resizedSize(sema, image, *size);
  if (!resized)
    return nullptr;
  const Axis &channels = axes[axes.size() - 3];
  if (channels.size != 1 && channels.size != 3) {
    sema.report
        .error(DiagCode::ImageChannels, parameter.type.range,
               "a picture has 1 or 3 channels, but the axis `" + channels.name + "` has " +
                   (channels.isDynamic() ? std::string("an unknown number")
                                         : std::to_string(channels.size)))
        .at(image.keyword, "the picture");
    return nullptr;
  }
  std::optional<std::vector<double>> mean = imageChannels(sema, image.mean, "mean", 0),
                                     std = imageChannels(sema, image.std, "std", 1);
  if (!mean || !std || !checkChannels(sema.report, *mean, image.mean, "mean", channels) ||
      !checkChannels(sema.report, *std, image.std, "std", channels))
    return nullptr;
  mlir::OpBuilder &builder = sema.builder;
  auto floats = [&](const std::vector<double> &numbers) {
    llvm::SmallVector<mlir::Attribute> attrs;
    for (double number : numbers)
      attrs.push_back(builder.getF32FloatAttr(static_cast<float>(number)));
    return builder.getArrayAttr(attrs);
  };
  llvm::StringRef filter = image.resampling ? llvm::StringRef(image.resampling->text) : "bicubic";
  llvm::SmallVector<mlir::NamedAttribute> attrs = {
      builder.getNamedAttr("filter", builder.getStringAttr(filter)),
      builder.getNamedAttr("height", builder.getI64IntegerAttr(size->height)),
      builder.getNamedAttr("mean", floats(*mean)),
      builder.getNamedAttr("resized_height", builder.getI64IntegerAttr(resized->height)),
      builder.getNamedAttr("resized_width", builder.getI64IntegerAttr(resized->width)),
      builder.getNamedAttr("std", floats(*std)),
      builder.getNamedAttr("width", builder.getI64IntegerAttr(size->width))};
  if (image.fit)
    attrs.push_back(builder.getNamedAttr("fit", builder.getStringAttr(image.fit->text)));
  if (!addPieces(sema, image, parameter, axes, attrs) || !addPrompt(sema, image, attrs))
    return nullptr;
  return builder.getDictionaryAttr(attrs);
}

} // namespace attn::frontend
