// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the Open Inference Protocol says of an entry.
#include "base/Json.h"
#include "main/Report.h"
#include "serve/Kserve.h"

namespace attn {

/// The protocol's names, by dtypes of attn.h.
static constexpr const char *datatypes[] = {"FP32",  "FP16",  "BF16", "INT32",
                                            "INT64", "UINT8", "BOOL", "FP64"};

const char *datatypeName(int32_t dtype) {
  return dtype >= 0 && dtype < int32_t(sizeof datatypes / sizeof *datatypes) ? datatypes[dtype]
                                                                             : "?";
}

static void describeTensor(const attn_tensor_info &info, bool isFirst, Text &text) {
  text.append(isFirst ? "{\"name\": " : ", {\"name\": ");
  appendJsonString(text, info.name);
  text.append(", \"datatype\": \"%s\", \"shape\": [", datatypeName(info.dtype));
  for (int32_t axis = 0; axis < info.rank; ++axis)
    text.append(axis ? ", %lld" : "%lld",
                info.isDynamic[axis] ? -1LL : static_cast<long long>(info.shape[axis]));
  text.append("]}");
}

void describeEntry(const ServedEntry &entry, Text &text) {
  const attn_model *model = entry.model;
  text.append("{\"name\": \"%s\", \"versions\": [\"1\"], \"platform\": \"attn\", \"inputs\": [",
              entry.name);
  attn_tensor_info info;
  bool isFirst = true;
  for (int32_t i = 0; attn_model_input(model, entry.entry, i, &info) == ATTN_OK; ++i)
    if (!info.isState) {
      describeTensor(info, isFirst, text);
      isFirst = false;
    }
  text.append("], \"outputs\": [");
  for (int32_t i = 0; attn_model_output(model, entry.entry, i, &info) == ATTN_OK; ++i)
    describeTensor(info, i == 0, text);
  text.append("]}");
}

} // namespace attn
