// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors as clients read them.
#include "serve/Exchange.h"

#include "main/Report.h"
#include <cstdarg>
#include <cstdio>

namespace attn {

void Exchange::fail(int code, const char *format, ...) {
  char words[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  Text text;
  text.append("{\"error\": ");
  appendJsonString(text, words);
  text.append("}");
  status = code;
  type = "application/json";
  answerHeaderSize = -1;
  answer.clear();
  answer.append(text.c_str(), text.size());
}

} // namespace attn
