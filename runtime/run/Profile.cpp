// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times of kernels on each thread, taken around the barriers behind them.
#include "run/Profile.h"
#include <ctime>
#include <new>

using namespace attn;

static int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

int64_t Profile::since() const { return now() - origin; }

Profile::~Profile() { disable(); }

bool Profile::enable() {
  if (records)
    return true;
  void *memory = nullptr;
  if (posix_memalign(&memory, alignof(Record), sizeof(Record) * size_t(team.size())) != 0)
    return false;
  records = static_cast<Record *>(memory);
  for (int32_t i = 0; i < team.size(); ++i)
    new (records + i) Record{0, {}};
  return true;
}

void Profile::disable() {
  for (int32_t i = 0; records && i < team.size(); ++i)
    records[i].~Record();
  free(records);
  records = nullptr;
}

bool Profile::beginRun(const int64_t *dims, int32_t dimCount) {
  if (!sizes.resize(size_t(dimCount)))
    return false;
  memcpy(sizes.data(), dims, sizeof(int64_t) * size_t(dimCount));
  for (int32_t i = 0; i < team.size(); ++i)
    records[i].events.clear();
  origin = now();
  return true;
}

void Profile::barrier(void *profile, int64_t thread, int64_t kernel) {
  Profile &own = *static_cast<Profile *>(profile);
  Record &record = own.records[thread];
  attn_kernel_event event{int32_t(kernel), record.last, own.since(), 0};
  own.team.barrier(thread);
  event.end = record.last = own.since();
  record.events.push(event); // where memory is lacking it is not in the profile
}

int64_t Profile::claim(void *profile, int64_t thread, int64_t least) {
  return static_cast<Profile *>(profile)->team.claim(thread, least);
}

const Vector<attn_kernel_event> *Profile::events(int32_t thread) const {
  return records && thread >= 0 && thread < team.size() ? &records[thread].events : nullptr;
}
