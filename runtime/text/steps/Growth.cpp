// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error of a step that makes too much of a text.
#include "text/steps/Growth.h"

using namespace attn;

attn_status Growth::report(Error &error) const {
  if (!at.name)
    return error.set(ATTN_BAD_INPUT, "R0709", "the %s makes too much: more than %zu bytes",
                     at.component, most);
  return error.set(ATTN_BAD_INPUT, "R0709",
                   "step %zu of the %s, `%s`, makes too much: more than %zu bytes, with what the "
                   "steps before it have made",
                   at.number, at.component, at.name, most);
}
