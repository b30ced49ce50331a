// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `sound input 80 x 3000 rate 16000 fft 400 hop 160` -> the attribute attn.sound of the parameter
// `mel`, whose last axes are bands and frames.
#include "compiler/frontend/sema/entries/Sounds.h"
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
  if (!rate || !fft || !hop || !bands || !frames)
    return nullptr;
  if (*fft % 2 != 0) {
    sema.report.error(DiagCode::SoundNumber, sound.fft->range,
                      "the transform of a sound has an even number of samples");
    return nullptr;
  }
  mlir::OpBuilder &builder = sema.builder;
  auto number = [&](llvm::StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({number("bands", *bands), number("fft", *fft),
                                    number("frames", *frames), number("hop", *hop),
                                    number("rate", *rate)});
}

} // namespace attn::frontend
