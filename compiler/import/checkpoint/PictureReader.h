// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What preprocessor_config.json says of pictures, by the class of the processor.
#pragma once

#include "compiler/import/checkpoint/Eyes.h"

namespace attn::importer {

/// The numbers that pixels are normalised by where nothing is said.
struct Normalisation {
  double mean[3], deviation[3];
};

/// What a number means as `size`.
enum class OneNumber { Both, Shorter, None };

/// A class of processors, as transformers has them: its name without `ImageProcessor`, and what
/// holds where the file says nothing.
struct ProcessorClass {
  llvm::StringRef name;
  OneNumber number;
  int64_t size;     ///< of both sides where one number means that, else of the shorter one
  bool crops;       ///< `do_center_crop`
  int64_t crop;     ///< `crop_size`; 0: it has none
  int64_t resample; ///< as Pillow counts its filters
  Normalisation normalisation;
  llvm::ArrayRef<llvm::StringRef> families; ///< whose processors are of it where no class is named
  bool isPatched = false;                   ///< pictures are cut into patches
  bool normalises = true;                   ///< `do_normalize`
};

/// Height and width, or the length of the shorter side or of the longer one; 0: not said.
struct Size {
  int64_t height = 0, width = 0, shorter = 0, longer = 0;
};

/// Reads one preprocessor_config.json.
class PictureReader {
public:
  PictureReader(FamilyWriter &writer, Config &values) : writer(writer), values(values) {}

  /// " bicubic mean 0.5 std 0.5" and the end of the line.
  std::string pixelsText();
  /// What `size`, `crop_size` or `pad_size` says.
  Size sizeAt(llvm::StringRef key, OneNumber number);
  /// The tensor's side, and behind it in `line` what a picture is resized to.
  Picture read();
  /// The same of SAM's.
  Picture readWithin(int64_t side);
  /// Finds the class, of those that cut pictures into patches or of the others.
  void findClass(bool isPatched = false);

  const ProcessorClass *found = nullptr;

private:
  /// Means or deviations, each divided by `by`: of the file, or else of the class.
  std::string dividedText(llvm::StringRef key, llvm::ArrayRef<double> otherwise, double by);
  /// The side of a square; an error where it is none.
  int64_t squareOf(llvm::StringRef key, const Size &size);
  /// " from 256", of the shorter edge, or " from 256 x 256"; where the middle is larger, padded.
  std::string resizedText(const Size &size, int64_t side);
  /// ConvNeXT's: below 384 the shorter side is resized to more, and the middle is taken.
  Picture readRatio(const Size &size);

  FamilyWriter &writer;
  Config &values;
  bool isFast = false;
};

} // namespace attn::importer
