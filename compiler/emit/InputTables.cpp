// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `image` and `sound` of the inputs of entries -> attn_abi_image and attn_abi_sound.
#include "compiler/emit/InputTables.h"
#include "attn/abi.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attn;

using Constants = llvm::SmallVector<llvm::Constant *>;

/// Four numbers, one for all channels repeated.
static Constants channelNumbers(const ConstantBuilder &build, ArrayAttr numbers) {
  Constants values;
  for (size_t i = 0; i < 4; ++i) {
    size_t from = numbers.size() == 1 ? 0 : i;
    double value = from < numbers.size() ? cast<FloatAttr>(numbers[from]).getValueAsDouble() : 0.0;
    values.push_back(build.f32(float(value)));
  }
  return values;
}

Constants attn::imageTable(ConstantBuilder &build, llvm::ArrayRef<EntryInfo> entries) {
  Constants table;
  for (auto [e, entry] : llvm::enumerate(entries))
    for (auto [i, input] : llvm::enumerate(entry.inputs)) {
      if (!input.image)
        continue;
      auto said = [image = input.image](llvm::StringRef key) {
        auto number = image.getAs<IntegerAttr>(key);
        return number ? number.getInt() : 0;
      };
      auto number = [&](llvm::StringRef key) { return build.i32(said(key)); };
      auto text = [&, image = input.image](llvm::StringRef key) {
        auto text = image.getAs<StringAttr>(key);
        return text ? build.text(text.getValue()) : build.null();
      };
      int32_t filter = llvm::StringSwitch<int32_t>(input.image.getAs<StringAttr>("filter"))
                           .Case("nearest", ATTN_FILTER_NEAREST)
                           .Case("bilinear", ATTN_FILTER_BILINEAR)
                           .Case("lanczos", ATTN_FILTER_LANCZOS)
                           .Case("box", ATTN_FILTER_BOX)
                           .Case("hamming", ATTN_FILTER_HAMMING)
                           .Default(ATTN_FILTER_BICUBIC);
      auto fitting = input.image.getAs<StringAttr>("fit");
      int32_t fit = llvm::StringSwitch<int32_t>(fitting ? fitting.getValue() : "")
                        .Case("round", ATTN_FIT_ROUND)
                        .Case("padded", ATTN_FIT_PADDED)
                        .Case("within", ATTN_FIT_WITHIN)
                        .Case("patches", ATTN_FIT_PATCHES)
                        .Case("tiles", ATTN_FIT_TILES)
                        .Default(ATTN_FIT_MIDDLE);
      int64_t channels = input.axes[input.axes.size() - 3].size;
      auto mean = channelNumbers(build, input.image.getAs<ArrayAttr>("mean")),
           std = channelNumbers(build, input.image.getAs<ArrayAttr>("std"));
      table.push_back(build.structure({build.i32(int64_t(e)),
                                       build.i32(int64_t(i)),
                                       number("width"),
                                       number("height"),
                                       build.i32(channels),
                                       build.i32(filter),
                                       build.sequence(mean),
                                       build.sequence(std),
                                       number("resized_width"),
                                       number("resized_height"),
                                       build.i32(fit),
                                       number("merged"),
                                       build.i64(said("least_pixels")),
                                       build.i64(said("most_pixels")),
                                       number("edge"),
                                       number("least_tiles"),
                                       number("most_tiles"),
                                       text("mark"),
                                       text("shown"),
                                       text("alone"),
                                       text("begin"),
                                       text("end"),
                                       text("tile"),
                                       text("line"),
                                       text("whole")}));
    }
  return table;
}

Constants attn::soundTable(ConstantBuilder &build, llvm::ArrayRef<EntryInfo> entries) {
  Constants table;
  for (auto [e, entry] : llvm::enumerate(entries))
    for (auto [i, input] : llvm::enumerate(entry.inputs)) {
      if (!input.sound)
        continue;
      Constants numbers{build.i32(int64_t(e)), build.i32(int64_t(i))};
      for (llvm::StringRef key : {"bands", "frames", "rate", "fft", "hop"})
        numbers.push_back(build.i32(input.sound.getAs<IntegerAttr>(key).getInt()));
      numbers.push_back(
          build.i32(llvm::StringSwitch<int32_t>(input.sound.getAs<StringAttr>("form").getValue())
                        .Case("kaldi", ATTN_SOUND_KALDI)
                        .Case("samples", ATTN_SOUND_SAMPLES)
                        .Case("unit samples", ATTN_SOUND_UNIT_SAMPLES)
                        .Default(ATTN_SOUND_WHISPER)));
      for (llvm::StringRef key : {"mean", "std"})
        numbers.push_back(build.f64(input.sound.getAs<FloatAttr>(key).getValueAsDouble()));
      table.push_back(build.structure(numbers));
    }
  return table;
}
