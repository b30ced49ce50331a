// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors as clients read them.
#include "serve/Exchange.h"
#include "base/Json.h"

#include "main/Report.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace attn {

Exchange::~Exchange() {
  if (kind)
    kind->release(work);
  for (size_t i = 0; i < partCount; ++i)
    parts[i].~Part();
  free(parts);
}

void Durations::add(double taken) {
  int at = 0;
  while (at + 1 < count && taken > bounds[at])
    ++at;
  ++times[at];
  seconds += taken;
}

void Durations::add(const Durations &other) {
  for (int i = 0; i < count; ++i)
    times[i] += other.times[i];
  seconds += other.seconds;
}

void TextCounts::add(const TextCounts &other) {
  kept += other.kept, read += other.read, written += other.written;
  first.add(other.first), between.add(other.between);
}

bool Exchange::makeParts(size_t count) {
  parts = static_cast<Part *>(calloc(count ? count : 1, sizeof(Part)));
  if (!parts)
    return failWithoutMemory();
  partCount = partsLeft = count;
  for (size_t i = 0; i < count; ++i) {
    parts[i] = Part();
    parts[i].exchange = this;
    parts[i].target = target;
    parts[i].index = i;
  }
  return true;
}

bool Exchange::failWithoutMemory() {
  fail(503, "no memory for the request; try again later");
  return false;
}

void Exchange::fail(attn_status code, const char *message) {
  fail(code == ATTN_BAD_INPUT       ? 400
       : code == ATTN_OUT_OF_MEMORY ? 503
                                    : 500,
       "%s", message ? message : attn_status_name(code));
}

void Exchange::fail(int code, const char *format, ...) {
  char words[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  Text text;
  text.append(isOfOpenAi ? "{\"error\": {\"message\": " : "{\"error\": ");
  appendJsonString(text, words);
  if (isOfOpenAi)
    text.append(", \"type\": \"%s\", \"param\": null, \"code\": null}",
                code == 429   ? "rate_limit_error"
                : code >= 500 ? "server_error"
                              : "invalid_request_error");
  text.append("}");
  status = code;
  type = "application/json";
  answerHeaderSize = -1;
  answer.clear();
  answer.append(text.c_str(), text.size());
}

} // namespace attn
