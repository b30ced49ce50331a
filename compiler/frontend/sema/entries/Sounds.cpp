// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `sound input 80 x 3000 rate 16000 fft 400 hop 160` -> the attribute attn.sound of the parameter
// `mel`, whose last axes are bands and frames; `sound input samples` -> that of `samples`.
#include "compiler/frontend/sema/entries/Sounds.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Types.h"

namespace attn::frontend {

using namespace ast;

/// A number of the declaration, `otherwise` where it is not said; nothing after an error.
static std::optional<int64_t> soundNumber(Sema &sema, const Expr *expr, llvm::StringRef what,
                                          int64_t least, int64_t most, int64_t otherwise) {
  if (!expr)
    return otherwise;
  Size size = evalSize(sema, *expr);
  if (size.error)
    return std::nullopt;
  if (size.isStatic() && size.offset >= least && size.offset <= most)
    return size.offset;
  sema.report
      .error(DiagCode::SoundNumber, expr->range,
             what + " of a sound is a number from " + llvm::Twine(least) + " to " +
                 llvm::Twine(most) + ", known when compiling")
      .note("Whisper's are `rate 16000 fft 400 hop 160`, which are meant where none are said");
  return std::nullopt;
}

/// What is subtracted from a spectrogram, or what that is divided by; nothing after an error.
static std::optional<double> soundScale(Sema &sema, const SoundDecl &sound, const Expr *expr,
                                        llvm::StringRef what, double otherwise) {
  if (!expr)
    return otherwise;
  std::optional<double> number = evalNumber(sema, *expr, "the " + what.str() + " of a sound");
  if (!number || (sound.form && (what == "mean" || *number > 0)))
    return number;
  if (sound.form)
    sema.report.error(DiagCode::SoundNumber, expr->range,
                      "the standard deviation must be more than 0");
  else
    sema.report
        .error(DiagCode::SoundNumber, expr->range,
               "the spectrogram of Whisper has no " + what + " of its own")
        .note("`mean` and `std` are of `kaldi`");
  return std::nullopt;
}

/// Whether the tensor has the bands and frames of the declaration; reports where it has not.
static bool checkSize(Sema &sema, const SoundDecl &sound, const Parameter &parameter,
                      llvm::ArrayRef<Axis> axes) {
  const Axis &bands = axes[axes.size() - 2], &frames = axes.back();
  Size b = evalSize(sema, *sound.bands), f = evalSize(sema, *sound.frames);
  if (b.error || f.error)
    return false;
  if (b.isStatic() && f.isStatic() && b.offset == bands.size && f.offset == frames.size)
    return true;
  auto size = [](const Axis &axis) {
    return axis.isDynamic() ? "unknown" : std::to_string(axis.size);
  };
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::SoundSize, sound.bands->range.to(sound.frames->range),
      "the sound has " + llvm::Twine(b.offset) + " bands and " + llvm::Twine(f.offset) +
          " frames, but the tensor " + size(bands) + " and " + size(frames));
  diagnostic.at(parameter.type.range, "this is " + showAxes(axes));
  if (std::string where = whereSizes(sema, {bands, frames}); !where.empty())
    diagnostic.note(where);
  if (!bands.isDynamic() && !frames.isDynamic())
    diagnostic.help(
        "write `sound input " + size(bands) + " x " + size(frames) + "`",
        Edit{sound.bands->range.to(sound.frames->range), size(bands) + " x " + size(frames)});
  else
    diagnostic.note("sounds have one number of bands and frames, known when compiling");
  return false;
}

/// The attribute of a sound in a form.
static mlir::DictionaryAttr attrOf(mlir::OpBuilder &builder, llvm::StringRef form,
                                   llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers,
                                   double mean, double deviation) {
  llvm::SmallVector<mlir::NamedAttribute> all{
      builder.getNamedAttr("form", builder.getStringAttr(form)),
      builder.getNamedAttr("mean", builder.getF64FloatAttr(mean)),
      builder.getNamedAttr("std", builder.getF64FloatAttr(deviation))};
  for (auto [name, value] : numbers)
    all.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  return builder.getDictionaryAttr(all);
}

/// The attribute of the samples of a sound, which are as many as their axis says, or as the sound
/// has where that is known only when running.
static mlir::DictionaryAttr samplesAttr(Sema &sema, const Parameter &parameter,
                                        llvm::ArrayRef<Axis> axes) {
  const SoundDecl &sound = *sema.names.sound;
  if (axes.size() > 2) {
    sema.report
        .error(DiagCode::SoundSize, parameter.type.range,
               "a sound becomes a row of samples, but this is " + showAxes(axes))
        .at(sound.keyword, "the sound")
        .help("write `f32[B, S]`");
    return nullptr;
  }
  auto rate = soundNumber(sema, sound.rate.get(), "the rate", 1000, 384000, 16000);
  if (!rate)
    return nullptr;
  return attrOf(sema.builder, sound.unit ? "unit samples" : "samples",
                {{"bands", 1},
                 {"frames", axes.back().isDynamic() ? 0 : axes.back().size},
                 {"rate", *rate},
                 {"fft", 1},
                 {"hop", 1}},
                0, 1);
}

mlir::DictionaryAttr soundAttr(Sema &sema, const EntryDecl &, const Parameter &parameter,
                               llvm::ArrayRef<Axis> axes) {
  const SoundDecl &sound = *sema.names.sound;
  if (!declaredElement(sema.builder, parameter.type).isF32()) {
    sema.report.error(DiagCode::DtypePlace, parameter.type.range, "a sound becomes a tensor of f32")
        .at(sound.keyword, "the sound")
        .help("leave `" + parameter.type.word->text + "` out",
              Edit{parameter.type.word->range, ""});
    return nullptr;
  }
  if (sound.parameter() == "samples")
    return samplesAttr(sema, parameter, axes);
  if (axes.size() < 2 || axes.size() > 3) {
    sema.report
        .error(DiagCode::SoundSize, parameter.type.range,
               "a sound becomes a tensor of bands and frames, but this is " + showAxes(axes))
        .at(sound.keyword, "the sound")
        .help("write `f32[B, C, W]`");
    return nullptr;
  }
  if (!sound.bands || !sound.frames || !checkSize(sema, sound, parameter, axes))
    return nullptr;
  // Limits of the runtime, which transforms windows one by one.
  auto rate = soundNumber(sema, sound.rate.get(), "the rate", 1000, 384000, 16000);
  auto fft = soundNumber(sema, sound.fft.get(), "the transform", 2, 2048, 400);
  auto hop = soundNumber(sema, sound.hop.get(), "the step", 1, 65536, 160);
  auto bands = soundNumber(sema, sound.bands.get(), "the number of bands", 1, 256, 0);
  auto frames = soundNumber(sema, sound.frames.get(), "the number of frames", 1, 1 << 20, 0);
  auto mean = soundScale(sema, sound, sound.mean.get(), "mean", 0),
       std = soundScale(sema, sound, sound.std.get(), "std", 1);
  if (!rate || !fft || !hop || !bands || !frames || !mean || !std)
    return nullptr;
  if (*fft % 2 != 0) {
    sema.report.error(DiagCode::SoundNumber, sound.fft->range,
                      "the transform of a sound has an even number of samples");
    return nullptr;
  }
  return attrOf(
      sema.builder, sound.form ? sound.form->text : "whisper",
      {{"bands", *bands}, {"frames", *frames}, {"rate", *rate}, {"fft", *fft}, {"hop", *hop}},
      *mean, *std);
}

} // namespace attn::frontend
