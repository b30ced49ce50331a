// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores and boxes of a detector to objects.
#include "main/Objects.h"
#include "base/Dtype.h"
#include <cmath>
#include <strings.h>

using namespace attn;

// In libattn_drawing, which is linked only where a detector takes pictures.
#pragma weak attn_main_draw

double attn::valueAt(const attn_tensor &tensor, int64_t index) {
  const char *at =
      static_cast<const char *>(tensor.data) + index * int64_t(attn_dtype_size(tensor.dtype));
  int32_t narrow;
  int64_t wide;
  double real;
  switch (tensor.dtype) {
  case ATTN_I32:
    memcpy(&narrow, at, 4);
    return narrow;
  case ATTN_I64:
    memcpy(&wide, at, 8);
    return double(wide);
  case ATTN_U8:
  case ATTN_BOOL:
    return static_cast<unsigned char>(*at);
  case ATTN_F64:
    memcpy(&real, at, 8);
    return real;
  default:
    return double(loadFloat(tensor.data, tensor.dtype, index));
  }
}

bool attn::areObjects(const attn_abi_entry &entry, const Labels &labels, const Tensors &outputs) {
  if (entry.outputCount < 2 || strcmp(entry.outputs[0].name, "logits") != 0 ||
      strcmp(entry.outputs[1].name, "boxes") != 0)
    return false;
  const attn_tensor &logits = outputs.list[0], &boxes = outputs.list[1];
  return labels.size() > 0 && logits.rank == 3 && boxes.rank == 3 && isFloat(logits.dtype) &&
         isFloat(boxes.dtype) && logits.shape[2] == labels.size() + 1 && boxes.shape[2] == 4 &&
         logits.shape[0] == boxes.shape[0] && logits.shape[1] == boxes.shape[1];
}

bool attn::findObjects(const attn_tensor &logits, const attn_tensor &boxes,
                       Vector<FoundObject> &objects) {
  int64_t queries = logits.shape[1], columns = logits.shape[2];
  for (int64_t row = 0; row < logits.shape[0] * queries; ++row) {
    int64_t best = 0;
    double sum = 0;
    for (int64_t i = 1; i < columns; ++i)
      if (valueAt(logits, row * columns + i) > valueAt(logits, row * columns + best))
        best = i;
    for (int64_t i = 0; i < columns; ++i)
      sum += exp(valueAt(logits, row * columns + i) - valueAt(logits, row * columns + best));
    if (best == columns - 1 || !(sum < 2)) // of none, less than half, or NaN
      continue;
    double x = valueAt(boxes, row * 4), y = valueAt(boxes, row * 4 + 1),
           halfWidth = valueAt(boxes, row * 4 + 2) / 2,
           halfHeight = valueAt(boxes, row * 4 + 3) / 2;
    if (!objects.push({row / queries, best, 1 / sum, x - halfWidth, y - halfHeight, x + halfWidth,
                       y + halfHeight}))
      return false;
  }
  return true;
}

/// The picture input of an entry; null: it has none.
static const attn_abi_image *pictureOf(const attn_abi_model &tables, int32_t entry) {
  for (int32_t i = 0; i < tables.imageCount; ++i)
    if (tables.images[i].entry == entry)
      return &tables.images[i];
  return nullptr;
}

static bool isPng(const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcasecmp(path + length - 4, ".png") == 0;
}

attn_status attn::checkDrawings(const Command &command, const attn_abi_model &tables, int32_t entry,
                                const Labels &labels, const Tensors &outputs, Error &error) {
  if (command.drawings.empty())
    return ATTN_OK;
  if (command.isBench)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--draw` has no effect with `--bench`");
  for (const char *path : command.drawings)
    if (!isPng(path))
      return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--draw %s`: expected FILE.png", path);
  const attn_abi_entry &found = tables.entries[entry];
  if (!areObjects(found, labels, outputs)) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--draw`: entry `%s` finds no objects", found.name);
    error.help("a detector gives `logits`, [B, N, K + 1], and `boxes`, [B, N, 4], and a "
               "config.json beside its weights names K classes (`id2label`)");
    return error.status;
  }
  size_t pictures = 0;
  for (const Setting &setting : command.inputs)
    pictures += isImageFile(setting.value);
  if (pictures == 0 || !pictureOf(tables, entry)) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--draw`: no input is a picture");
    error.help("pass `--input NAME=FILE.png` or FILE.jpg to an entry that takes pictures");
    return error.status;
  }
  if (pictures != command.drawings.size()) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--draw` is given %d times, for %d pictures",
              int(command.drawings.size()), int(pictures));
    error.help("give it once for each of them, in the same order");
    return error.status;
  }
  if (!attn_main_draw) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "this program was linked without drawing");
    error.help("`attn run` draws, of a spec or a shared library");
    return error.status;
  }
  return ATTN_OK;
}

attn_status attn::drawObjects(const Command &command, const attn_abi_model &tables, int32_t entry,
                              const Labels &labels, const Tensors &outputs, Error &error) {
  return command.drawings.empty() ? ATTN_OK
                                  : attn_main_draw(&command, pictureOf(tables, entry), &labels,
                                                   outputs.list.data(), &error);
}
