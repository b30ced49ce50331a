// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for stops: those that end at each new byte.
#include "session/StopTexts.h"

using namespace attn;

size_t StopTexts::stopEndingAt(size_t end) const {
  size_t longest = 0;
  for (int32_t i = 0; i < count; ++i) {
    size_t size = strlen(stops[i]);
    if (size > longest && size <= end && memcmp(held.data() + end - size, stops[i], size) == 0)
      longest = size;
  }
  return longest;
}

size_t StopTexts::undecided() const {
  size_t most = 0;
  for (int32_t i = 0; i < count; ++i) {
    size_t size = strlen(stops[i]);
    for (size_t part = size < held.size() ? size : held.size(); part > most; --part)
      if (memcmp(held.data() + held.size() - part, stops[i], part) == 0)
        most = part;
  }
  return most;
}

bool StopTexts::add(const char *piece, size_t size) {
  size_t rest = isStopped ? 0 : held.size() - readySize;
  if (rest)
    memmove(held.data(), held.data() + readySize, rest);
  held.resize(rest);
  readySize = 0;
  if (isStopped)
    return true;
  if (!held.append(piece, size))
    return false;
  for (size_t end = rest + 1; end <= held.size(); ++end)
    if (size_t found = stopEndingAt(end)) {
      isStopped = true;
      readySize = end - found;
      return true;
    }
  readySize = held.size() - undecided();
  return true;
}
