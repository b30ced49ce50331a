// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs of the command line: .npy files, or a short print.
#include "base/Dtype.h"
#include "io/Npy.h"
#include "main/Command.h"
#include <cmath>
#include <cstdio>

using namespace attn;

static double valueAt(const attn_tensor &tensor, int64_t index) {
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

static void printValues(const attn_tensor &tensor, int64_t begin, int64_t count) {
  constexpr int64_t most = 8;
  for (int64_t i = 0; i < count && i < most; ++i)
    printf(" %.6g", valueAt(tensor, begin + i));
  if (count > most)
    printf(" ...");
}

/// The five largest of a row's scores as labels with their probabilities, a softmax.
static void printLabels(const attn_tensor &tensor, int64_t begin, const Labels &labels) {
  constexpr int most = 5;
  int64_t best[most];
  int count = 0;
  for (int64_t i = 0; i < labels.size(); ++i) {
    int at = count < most ? count++ : most;
    for (; at > 0 && valueAt(tensor, begin + i) > valueAt(tensor, begin + best[at - 1]); --at)
      if (at < most)
        best[at] = best[at - 1];
    if (at < most)
      best[at] = i;
  }
  double largest = valueAt(tensor, begin + best[0]), sum = 0;
  for (int64_t i = 0; i < labels.size(); ++i)
    sum += exp(valueAt(tensor, begin + i) - largest);
  for (int i = 0; i < count; ++i)
    printf("%s %s %.1f %%", i ? "," : "", labels.name(best[i]),
           100 * exp(valueAt(tensor, begin + best[i]) - largest) / sum);
}

static void printTensor(const char *name, const attn_tensor &tensor, const Labels &labels) {
  Text shape;
  shape.appendShape(tensor.shape, tensor.rank);
  printf("%s %s%s\n", name, attn_dtype_name(tensor.dtype), shape.c_str());
  int64_t elements = 0;
  countElements(tensor.shape, tensor.rank, elements);
  if (tensor.rank != 2) {
    printf(" ");
    printValues(tensor, 0, elements);
    printf("\n");
    return;
  }
  // Scores per row: the arg-max is what one wants to see.
  constexpr int64_t most = 16;
  int64_t columns = tensor.shape[1];
  for (int64_t row = 0; row < tensor.shape[0] && row < most; ++row) {
    if (columns == labels.size() && columns > 0 && isFloat(tensor.dtype)) {
      printf("  row %lld:", static_cast<long long>(row));
      printLabels(tensor, row * columns, labels);
      printf("\n");
      continue;
    }
    int64_t best = 0;
    for (int64_t i = 1; i < columns; ++i)
      if (valueAt(tensor, row * columns + i) > valueAt(tensor, row * columns + best))
        best = i;
    printf("  row %lld: arg-max %lld (%.6g);", static_cast<long long>(row),
           static_cast<long long>(best), valueAt(tensor, row * columns + best));
    printValues(tensor, row * columns, columns);
    printf("\n");
  }
  if (tensor.shape[0] > most)
    printf("  ... %lld more rows\n", static_cast<long long>(tensor.shape[0] - most));
}

/// Whether two outputs are what a detector has found: logits [B, N, K + 1] of the classes and of
/// none, and boxes [B, N, 4].
static bool areObjects(const attn_tensor &logits, const attn_tensor &boxes, const Labels &labels) {
  return labels.size() > 0 && logits.rank == 3 && boxes.rank == 3 && isFloat(logits.dtype) &&
         isFloat(boxes.dtype) && logits.shape[2] == labels.size() + 1 && boxes.shape[2] == 4 &&
         logits.shape[0] == boxes.shape[0] && logits.shape[1] == boxes.shape[1];
}

/// What is likelier than not: its label, its probability, a softmax, and the edges of its box,
/// which is given by centre, width and height.
static void printObjects(const attn_tensor &logits, const attn_tensor &boxes,
                         const Labels &labels) {
  printf("objects: label, probability; left, top, right, bottom as parts of the picture\n");
  int64_t queries = logits.shape[1], columns = logits.shape[2];
  for (int64_t row = 0; row < logits.shape[0] * queries; ++row) {
    int64_t best = 0;
    double sum = 0;
    for (int64_t i = 1; i < columns; ++i)
      if (valueAt(logits, row * columns + i) > valueAt(logits, row * columns + best))
        best = i;
    for (int64_t i = 0; i < columns; ++i)
      sum += exp(valueAt(logits, row * columns + i) - valueAt(logits, row * columns + best));
    if (best == columns - 1 || sum >= 2) // of none, or less than half
      continue;
    double x = valueAt(boxes, row * 4), y = valueAt(boxes, row * 4 + 1),
           halfWidth = valueAt(boxes, row * 4 + 2) / 2,
           halfHeight = valueAt(boxes, row * 4 + 3) / 2;
    printf("  picture %lld: %s %.1f %%; %.3f %.3f %.3f %.3f\n",
           static_cast<long long>(row / queries), labels.name(best), 100 / sum, x - halfWidth,
           y - halfHeight, x + halfWidth, y + halfHeight);
  }
}

/// Prints what a detector has found where nothing of it goes to a file; whether that is so.
static bool printedObjects(const Command &command, const attn_abi_entry &entry, int32_t count,
                           const Labels &labels, const Tensors &outputs) {
  if (count != 2 || !command.outputs.empty() || strcmp(entry.outputs[0].name, "logits") != 0 ||
      strcmp(entry.outputs[1].name, "boxes") != 0 ||
      !areObjects(outputs.list[0], outputs.list[1], labels))
    return false;
  printObjects(outputs.list[0], outputs.list[1], labels);
  return true;
}

static bool isFor(const Setting &setting, const char *name) {
  return strlen(name) == size_t(setting.length) &&
         memcmp(name, setting.name, size_t(setting.length)) == 0;
}

attn_status attn::writeOutputs(const Command &command, const attn_abi_entry &entry, int32_t count,
                               const Labels &labels, const Tensors &outputs, Error &error) {
  if (printedObjects(command, entry, count, labels, outputs))
    return ATTN_OK;
  for (int32_t i = 0; i < count; ++i) {
    bool isWritten = false;
    for (const Setting &setting : command.outputs) {
      if (!isFor(setting, entry.outputs[i].name))
        continue;
      fflush(stdout); // "-" writes past stdio
      if (attn_status status = writeNpy(setting.value, outputs.list[size_t(i)], error))
        return status;
      isWritten = true;
    }
    if (!isWritten)
      printTensor(entry.outputs[i].name, outputs.list[size_t(i)], labels);
  }
  return ATTN_OK;
}
