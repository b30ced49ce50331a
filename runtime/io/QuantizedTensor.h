// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized tensors as folders of Hugging Face hold them: one tensor of the model is several of the
// file, codes and what makes numbers of them. So is one whose length is a tensor of its own.
#pragma once

#include "io/Checkpoint.h"

namespace attn {

/// What a config.json says of how the tensors beside it are quantized.
struct QuantizationConfig {
  bool keepsZeros = false;  ///< GPTQ's codes of zero are kept as they are, not less 1 (`gptq_v2`)
  bool isSymmetric = false; ///< the zero of GPTQ is in the middle of the codes
  int64_t blockRows = 128, blockColumns = 128; ///< that share a scale, of floats of 8 bits
};

/// One tensor of the model. Those that it is made of are not in the checkpoint's list any more;
/// their bytes are where these say.
struct QuantizedTensor {
  /// How codes become numbers; the first axis of a matrix is that of a linear map's results.
  enum Format : int32_t {
    Float8,   ///< floats of 8 bits, each times the scale of its block
    IntRows,  ///< GPTQ: (code - zero) * scale; codes [in, out], packed along `in`
    IntWords, ///< AWQ: the same, packed along `out` in an order of its own
    Float4,   ///< MXFP4: floats of 4 bits, 32 side by side times a power of two
    Normed,   ///< weight norm: `codes` are directions, floats, and `scales` the lengths of them
  };

  Format format;
  StoredTensor whole;                        ///< as the model sees it: f32
  StoredTensor codes, scales, zeros, groups; ///< without a name where there is none
  int32_t bits;                              ///< of a code
  bool isE5M2;                               ///< of Float8: 5 bits of exponent, not 4
  int64_t scaleBlocks[ATTN_MAX_RANK]; ///< of Float8 and Normed: elements of an axis under one scale
  int64_t scaleStrides[ATTN_MAX_RANK]; ///< of these: from one scale to the next
  QuantizationConfig config;

  /// Whether its parts are tensors that a model may also take as they are.
  bool keepsParts() const { return format == Normed; }
};

/// Whether a tensor is the codes of a quantized one, or may be a direction of weight norm.
bool isQuantized(const StoredTensor &tensor);

/// Reads what `config.json`, or `quantize_config.json`, in a folder says; where there is neither,
/// `config` stays as it is. The file is added to `files`.
attn_status readQuantizationConfig(const char *folder, QuantizationConfig &config,
                                   Vector<SourceFile *> &files, Error &error);

/// What a checkpoint's tensors make, and for each of them whether it is a part of that.
struct QuantizedTensors {
  const QuantizationConfig &config;
  Vector<QuantizedTensor *> &made;
  Vector<bool> isPart;
  Arena &arena;
};

/// Finds the quantized tensors of a checkpoint. ATTN_BAD_WEIGHTS where codes have no scales, or
/// those of a shape that does not fit.
attn_status findQuantized(const Checkpoint &checkpoint, QuantizedTensors &found, Error &error);

} // namespace attn
