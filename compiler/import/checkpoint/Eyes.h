// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a language model sees pictures that stand in its prompts: the encoder of pictures around it,
// and what its layers take of them. A row of the table in Eyes.cpp for each family.
#pragma once

#include "compiler/import/checkpoint/Families.h"

namespace attn::importer {

/// An encoder of pictures, as lines of a spec, and what a decoder does otherwise with it.
struct Eyes {
  std::string text; ///< sizes, parameters, blocks, and the entry that sees a picture
  /// Which of the positions by time, row and column turns pair `p`: 0, 1 or 2; empty where
  /// positions are counted.
  std::string kindOfPair;
  int64_t deep = 0;      ///< how many layers in front are given rows of their own
  bool isWhole = false;  ///< rows of one picture see each other, those behind, too
  int64_t rows = 0;      ///< then: of a picture
  bool isPrefix = false; ///< and so do all tokens of a prompt
  /// ", since, until", or ", final": which tokens see each other; the same as a block takes it.
  std::string spanNames() const;
  std::string spanParameters() const;
};

/// What is read of a model around a language model.
struct EyesReader {
  FamilyWriter &writer; ///< of the language model, whose lines go to `Eyes::text`
  Config &outer;        ///< config.json
  std::string type;     ///< its model_type
  int64_t width;        ///< of the language model
  int64_t turned;       ///< features of its heads that turn

  /// Whether there are tensors of this name.
  bool hasWithin(llvm::StringRef name) const { return writer.folder.around->hasWithin(name); }
  /// What the tensors of a part begin with: "model.vision_tower.", or without the model.
  std::string partOf(llvm::StringRef name) const;
  /// The number of the encoder's last layer that is read, by `vision_feature_layer`, of `layers`,
  /// as the published class has it without the key; appends the names of those behind it, which
  /// begin with `stack`, to the `ignored` ones.
  int64_t lastLayer(int64_t layers, int64_t otherwise, llvm::StringRef stack,
                    std::vector<std::string> &ignored) const;
};

/// A form of encoders: the values of `model_type` around them, with spaces between, what the names
/// of their tensors begin with, and their reader, which leaves what is wrong in the config.
struct EyesKind {
  llvm::StringRef types;
  llvm::ArrayRef<llvm::StringRef> parts;
  Eyes (*read)(EyesReader &reader, llvm::raw_ostream &os);
};

// Each source in families/eyes/ defines one.
extern const EyesKind qwenEyes, towerEyes, gemma4Eyes, internEyes, pixtralEyes;

/// What the encoder of a model is called: first components of the names of its tensors.
llvm::ArrayRef<llvm::StringRef> eyesParts(llvm::StringRef wrapperType);

/// The encoder around the language model that `writer` writes, of `width`, whose heads turn
/// `turned` features; nothing where there is none that is read. What is wrong is left in the
/// config.
std::optional<Eyes> readEyes(FamilyWriter &writer, int64_t width, int64_t turned);

/// Names in quotation marks with commas between, as a spec lists them.
std::string quotedNames(llvm::ArrayRef<std::string> names);

/// How a processor cuts a picture into patches.
struct PatchedPicture {
  std::string line; ///< `image input …`
  int64_t most;     ///< squares of patches that a picture has
};

/// What preprocessor_config.json of a processor in Qwen2-VL's form says of patches of `patch`
/// pixels, `merged` on the side of a square, each of `frames` frames.
PatchedPicture readPatchedPicture(FamilyWriter &writer, int64_t patch, int64_t merged,
                                  int64_t frames);

/// The same of a processor in Gemma 4's form, whose pictures are as large as their most patches
/// allow; without what stands in prompts.
PatchedPicture readFilledPicture(FamilyWriter &writer, int64_t patch, int64_t merged);

/// The same of a processor in Pixtral's form, whose pictures have a longer edge of at most so many
/// pixels; `side` is what the encoder has places for.
PatchedPicture readEdgedPicture(FamilyWriter &writer, int64_t patch, int64_t merged, int64_t side);

/// The same of a processor of the class of `family`, which cuts pictures into tiles of `side`;
/// `most` are tiles, with the whole picture.
PatchedPicture readTiledPicture(FamilyWriter &writer, llvm::StringRef family, int64_t side);

/// The line `image input …` of a picture of `side` in a prompt, whose processor is of the class of
/// `family` where the folder names none.
std::string readPromptPicture(FamilyWriter &writer, llvm::StringRef family, int64_t side);

} // namespace attn::importer
