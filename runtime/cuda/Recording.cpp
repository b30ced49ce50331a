// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps and their words, appended and compared.
#include "cuda/Recording.h"

using namespace attn;

void Recording::clear() {
  steps.clear();
  words.clear();
  maps.clear();
}

bool Recording::add(Step step, const int64_t *own, size_t count) {
  step.first = words.size(), step.count = count;
  step.firstMap = maps.size();
  for (size_t i = 0; i < count; ++i)
    if (!words.push(own[i]))
      return false;
  return maps.resize(maps.size() + size_t(step.mapCount)) && steps.push(step);
}

bool Recording::addCopy(Step::Kind kind, CuPointer device, const void *host, size_t bytes) {
  Step step = {};
  step.kind = kind;
  int64_t own[] = {int64_t(device), int64_t(reinterpret_cast<uintptr_t>(host)), int64_t(bytes)};
  return add(step, own, 3);
}

bool Recording::isLike(const Recording &other) const {
  if (size() != other.size())
    return false;
  for (size_t i = 0; i < size(); ++i) {
    const Step &a = steps[i], &b = other.steps[i];
    bool isSameKind = a.kind == b.kind && a.function == b.function && a.count == b.count;
    // The event of a node stays.
    if (!isSameKind || (a.kind == Step::Record && !isSame(other, i)))
      return false;
  }
  return true;
}

bool Recording::isSame(const Recording &other, size_t i) const {
  const Step &a = steps[i], &b = other.steps[i];
  return a.blocks == b.blocks && a.threads == b.threads && a.sharedBytes == b.sharedBytes &&
         memcmp(wordsOf(i), other.wordsOf(i), a.count * sizeof(int64_t)) == 0;
}

void Recording::swap(Recording &other) noexcept {
  steps.swap(other.steps);
  words.swap(other.words);
  maps.swap(other.maps);
}
