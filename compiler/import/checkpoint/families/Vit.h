// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vision transformers, by themselves and as the encoder of another model.
#pragma once

#include "compiler/import/checkpoint/Families.h"

namespace attn::importer {

/// What a family calls the tensors of a layer.
struct VitLayerNames {
  llvm::StringRef firstNorm, secondNorm, up, down, firstScale, secondScale;
};

/// Writes one vision transformer. A model that has one as its encoder calls `read`, and writes its
/// own lines between the pieces.
class VitWriter {
public:
  /// Of a family's writer; where that is of a part, names begin with its `within`.
  explicit VitWriter(FamilyWriter &writer);
  /// The whole spec.
  void write();

  /// Reads the config and what becomes of a picture.
  void read();
  /// The lines from `model` on: dims, parameters.
  void writeParameters();
  /// The block of a layer.
  void writeLayer();
  /// Of `image`, [B, C, Y*P, X*Q], the states `y`, [B, N, D].
  void writeStates();
  /// The line `image input …`.
  llvm::StringRef pictureLine() const { return picture; }
  /// The features of a state.
  int64_t features() const { return width; }

  /// Has the states behind all layers, `states`, [L, B, N, D], by a block `Kept` of the caller's.
  void keepStates() { keepsStates = true; }
  /// The grid of patches.
  int64_t gridSide() const { return grid; }
  /// What the config says of layers.
  void readLayers();

private:
  /// What the config says of sizes and of the head.
  void readSizes();
  /// What only BEiT's config says.
  void readBeit();
  /// Parameters behind the layers, and tensors that no result needs.
  void writeHeads();
  /// Learnt positions on the picture's grid: `front` and `resized`.
  void writeResizedPositions();
  /// The picture's line and the only entry.
  void writeEntry();
  /// Learnt positions as the published class resizes them where it has what PyTorch calls
  /// antialiasing: `resized`, by a table for each side.
  void writeSmoothedPositions();
  /// How many tokens with positions stand in front of those of the patches.
  int64_t front() const { return isDeit ? 2 : hasClass ? 1 : 0; }
  /// The axis of all tokens that have positions.
  llvm::StringRef placed() const { return registers ? "N0" : "N"; }

  FamilyWriter &writer;
  Config &config;
  llvm::raw_ostream &os;
  bool isDino, isDeit, isBeit, isMae, hasClass;
  const VitLayerNames &names;
  std::string prefix, eps, picture;
  int64_t width = 0, heads = 0, hidden = 0, channels = 0, patch = 0, learnt = 0, grid = 0,
          classes = 0, registers = 0;
  bool hasBias = true, isGated = false, hasTeacher = false, isScaled = false, hasPositions = true,
       isMean = false, hasTable = false, hasSharedTable = false, keepsStates = false;
};

/// The block `Layer` of a model whose layers are ViT's, for a template.
std::string vitLayer(FamilyWriter &writer);

} // namespace attn::importer
