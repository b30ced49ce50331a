// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When each kernel of a run began and ended, on every thread: generated code tells the barrier
// behind a kernel which one it was. On a GPU, events around each launch say so.
#pragma once

#include "attn/attn.h"
#include "base/Team.h"
#include "base/Vector.h"

namespace attn {

/// Records when the kernels of a run began and ended. Used by one context.
class Profile {
public:
  explicit Profile(Team &team) : team(team) {}
  ~Profile();

  /// Sets up a record for each thread of the team; false where memory is lacking.
  bool enable();
  void disable();
  bool isEnabled() const { return records != nullptr; }
  /// Before a run with these dims: drops what was recorded.
  bool beginRun(const int64_t *dims, int32_t dimCount);
  /// On each thread, at the beginning of the run.
  void beginThread(int64_t thread) { records[thread].last = since(); }
  /// The events of a run on a GPU, where there is only thread 0; while recording is enabled.
  Vector<attn_kernel_event> &deviceEvents() { return records[0].events; }
  /// attn_abi_call.barrier of a Profile.
  static void barrier(void *profile, int64_t thread, int64_t kernel);
  /// attn_abi_call.claim of a Profile.
  static int64_t claim(void *profile, int64_t thread, int64_t least);

  /// The events of a thread in the last run; null where there is no such thread or no record.
  const Vector<attn_kernel_event> *events(int32_t thread) const;
  /// The dims of the last run.
  const Vector<int64_t> &dims() const { return sizes; }

private:
  /// What one thread has recorded.
  struct alignas(128) Record {
    int64_t last; // when the kernel before had ended everywhere
    Vector<attn_kernel_event> events;
  };
  /// Nanoseconds since the run began.
  int64_t since() const;

  Team &team;
  Record *records = nullptr;
  Vector<int64_t> sizes;
  int64_t origin = 0;
};

} // namespace attn
