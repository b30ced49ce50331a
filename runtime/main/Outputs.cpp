// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outputs of the command line: .npy files, or a short print.
#include "attn/abi.h"
#include "base/Dtype.h"
#include "io/Npy.h"
#include "main/Command.h"
#include "main/NotNumbers.h"
#include "main/Objects.h"
#include <cmath>
#include <cstdio>

using namespace attn;

static void printValues(const attn_tensor &tensor, int64_t begin, int64_t count) {
  constexpr int64_t most = 8;
  for (int64_t i = 0; i < count && i < most; ++i)
    printf(" %.6g", valueAt(tensor, begin + i));
  if (count > most)
    printf(" ...");
}

/// The most probable labels of a row of scores, with what the model's scores mean.
static void printLabels(const attn_tensor &tensor, int64_t begin, const Labels &labels) {
  RankedLabel best[mostRanked];
  int count = rankLabels(tensor, begin, labels, best);
  for (int i = 0; i < count; ++i) {
    printf("%s %s ", i ? "," : "", labels.name(best[i].number));
    if (labels.function() == ATTN_LABELS_NONE)
      printf("%.6g", best[i].value);
    else
      printf("%.1f %%", 100 * best[i].value);
  }
}

/// The place of a row's largest element, for scores: not of integers, whose largest means nothing.
/// NaN is passed by.
static void printLargest(const attn_tensor &tensor, int64_t begin, int64_t count) {
  int64_t best = -1;
  for (int64_t i = 0; i < count && isFloat(tensor.dtype); ++i) {
    double value = valueAt(tensor, begin + i);
    if (!std::isnan(value) && (best < 0 || value > valueAt(tensor, begin + best)))
      best = i;
  }
  if (best >= 0)
    printf(" arg-max %lld (%.6g);", static_cast<long long>(best), valueAt(tensor, begin + best));
}

static void printTensor(const char *name, const attn_tensor &tensor, const Labels &labels) {
  Text shape;
  shape.appendShape(tensor.shape, tensor.rank);
  Text bad;
  NotNumbers::of(tensor).describe(tensor, bad);
  printf("%s %s%s%s\n", name, attn_dtype_name(tensor.dtype), shape.c_str(), bad.c_str());
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
  bool hasLabels = columns == labels.size() && columns > 0 && isFloat(tensor.dtype) &&
                   NotNumbers::of(tensor).nan == 0;
  for (int64_t row = 0; row < tensor.shape[0] && row < most; ++row) {
    if (hasLabels) {
      printf("  row %lld:", static_cast<long long>(row));
      printLabels(tensor, row * columns, labels);
      printf("\n");
      continue;
    }
    printf("  row %lld:", static_cast<long long>(row));
    printLargest(tensor, row * columns, columns);
    printValues(tensor, row * columns, columns);
    printf("\n");
  }
  if (tensor.shape[0] > most)
    printf("  ... %lld more rows\n", static_cast<long long>(tensor.shape[0] - most));
}

/// Prints what a detector has found.
static attn_status printObjects(const Tensors &outputs, const Labels &labels, Error &error) {
  Vector<FoundObject> objects;
  if (!findObjects(outputs.list[0], outputs.list[1], objects))
    return error.outOfMemory("objects");
  printf("objects: label, probability; left, top, right, bottom as parts of the picture\n");
  for (const FoundObject &object : objects)
    printf("  picture %lld: %s %.1f %%; %.3f %.3f %.3f %.3f\n",
           static_cast<long long>(object.picture), labels.name(object.label), 100 * object.chance,
           object.left, object.top, object.right, object.bottom);
  return ATTN_OK;
}

static bool isFor(const Setting &setting, const char *name) {
  return strlen(name) == size_t(setting.length) &&
         memcmp(name, setting.name, size_t(setting.length)) == 0;
}

attn_status attn::writeOutputs(const Command &command, const attn_abi_entry &entry, int32_t count,
                               const Labels &labels, const Tensors &outputs, Error &error) {
  if (count == 2 && command.outputs.empty() && areObjects(entry, labels, outputs)) {
    warnOfNan(entry, count, outputs);
    return printObjects(outputs, labels, error);
  }
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
  warnOfNan(entry, count, outputs);
  return ATTN_OK;
}
