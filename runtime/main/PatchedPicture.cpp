// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture's patches, and where they lie, as inputs of an entry.
#include "main/PatchedPicture.h"
#include "base/Tensor.h"
#include "run/Model.h"
#include "run/PictureGrid.h"

// In libattn_image, which is linked only where an entry takes a picture.
#pragma weak attn_picture_read
#pragma weak attn_picture_free

using namespace attn;

bool attn::takesPatches(const attn_abi_model &tables, int32_t entry, int32_t input) {
  const attn_abi_image *image = imageOf(tables, entry, input);
  return attn_picture_read && image &&
         (image->fit == ATTN_FIT_PATCHES || image->fit == ATTN_FIT_TILES);
}

/// Copies a tensor into memory of the inputs.
static bool keep(Tensors &inputs, const attn_tensor &from, attn_tensor &to) {
  to = from;
  if (!inputs.allocate(to))
    return false;
  memcpy(to.data, from.data, size_t(byteSize(from)));
  return true;
}

attn_status attn::readPatches(const attn_model &model, int32_t entry, int32_t input,
                              const char *path, Tensors &inputs, Error &error) {
  const attn_abi_image &image = *imageOf(*model.tables, entry, input);
  const attn_abi_entry &tables = model.tables->entries[entry];
  attn_picture picture = {};
  char *message = nullptr;
  if (attn_status status = attn_picture_read(&model, entry, input, path, &picture, &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  PictureGrid grid;
  attn_tensor patches = {
      picture.values, ATTN_F32, 4, {picture.count, image.channels, image.height, image.width},
      nullptr,        0,        0};
  bool hasRoom = grid.take(picture) && keep(inputs, patches, inputs.list[size_t(input)]);
  for (int32_t i = 0; hasRoom && i < tables.inputCount; ++i) {
    attn_tensor &tensor = inputs.list[size_t(i)];
    attn_tensor place = {};
    if (!tensor.data && grid.bind(tables.inputs[i], place))
      hasRoom = keep(inputs, place, tensor);
  }
  attn_picture_free(&picture);
  return hasRoom ? ATTN_OK : error.outOfMemory("an input");
}
