// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a detector has found, and pictures in which it is drawn.
#pragma once

#include "main/Command.h"

namespace attn {

/// An element of a tensor as a number.
double valueAt(const attn_tensor &tensor, int64_t index);

/// Something that a detector has found in a picture of a batch. Edges are parts of the picture.
struct FoundObject {
  int64_t picture, label;
  double chance; ///< the label's probability, a softmax
  double left, top, right, bottom;
};

/// Whether the first two outputs of an entry are what a detector has found: `logits`, [B, N, K + 1]
/// of the classes and of none, and `boxes`, [B, N, 4]. They need no data yet.
bool areObjects(const attn_abi_entry &entry, const Labels &labels, const Tensors &outputs);

/// What is likelier than not. Boxes are given by centre, width and height. False where memory is
/// lacking.
bool findObjects(const attn_tensor &logits, const attn_tensor &boxes, Vector<FoundObject> &objects);

/// Says what is wrong where `--draw` cannot be followed, before anything runs.
attn_status checkDrawings(const Command &command, const attn_abi_model &tables, int32_t entry,
                          const Labels &labels, const Tensors &outputs, Error &error);

/// Follows `--draw`, which checkDrawings has found right, after a run.
attn_status drawObjects(const Command &command, const attn_abi_model &tables, int32_t entry,
                        const Labels &labels, const Tensors &outputs, Error &error);

} // namespace attn

/// Writes the pictures that an entry was given, with what it has found in each drawn into it, to
/// the files of `--draw`. Only where drawing is linked; else the address is null.
extern "C" attn_status attn_main_draw(const attn::Command *command, const attn_abi_image *image,
                                      const attn::Labels *labels, const attn_tensor *outputs,
                                      attn::Error *error);
