// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --bench prints: times, rates beside the machine's peaks, the profile of a run.
#pragma once

#include "base/Vector.h"
#include "cuda/Gpu.h"
#include "main/Command.h"
#include "main/Peaks.h"
#include "run/Model.h"

namespace attn {

/// What a trace says of the run as a whole.
struct TraceOf {
  const char *model, *entry, *target;
  bool isGpu;
  int64_t workspaceBytes; ///< 0: unknown
  /// The sizes that are known only when running.
  struct Size {
    const char *name;
    int64_t size;
  };
  Vector<Size> sizes;
};

/// A copy of what a profiled run recorded.
class RunProfile {
public:
  /// Takes the record of the last run of a context; false where memory is lacking. Operations of
  /// attention under a mask are those of live tiles where the command can tell, else as if dense.
  bool take(const attn_context *context, double milliseconds, const Command &command);
  double milliseconds() const { return time; }

  /// How operations of attention under a mask are counted.
  enum class Counts { NoMask, LiveTiles, AsIfDense };

  /// A kernel of the run, with the sums over its calls.
  struct Kernel {
    attn_kernel_info info;
    Counts counts;
    int32_t calls;
    double seconds; ///< from the end of the kernel before to where all threads had ended
    double allSeconds, waitingSeconds; ///< of all threads, and what they waited for each other
    /// The share of the threads' time in which they waited for each other.
    double waiting() const { return allSeconds > 0 ? waitingSeconds / allSeconds : 0; }
  };
  /// By time, the longest first.
  const Vector<Kernel> &kernels() const { return list; }
  /// Of all kernels: as if dense where one is.
  Counts counts() const;
  double flop() const;
  double bytes() const;

  /// Writes the calls as a Chrome trace (the Trace Event Format).
  attn_status writeTrace(const char *path, const TraceOf &of, Error &error) const;

private:
  /// A call of a kernel on a thread.
  struct Event {
    int32_t thread;
    attn_kernel_event event;
  };
  double time = 0;
  Vector<Kernel> list;
  Vector<Kernel> infos; // by kernel number, without times
  Vector<Event> events;
};

/// "live tiles", "as if dense", "all".
const char *countsText(RunProfile::Counts counts);

/// The times of many runs, in ms.
struct Times {
  double minimum, median, p95;

  /// Sorts `list`, which is not empty.
  static Times of(Vector<double> &list);
};

/// What a bench measured, and of what.
struct BenchResult {
  const attn_model *model;
  const Gpu *gpu; ///< Null: the CPU.
  const char *entry;
  int32_t threads, repeat;
  Times times;    ///< On a GPU of its kernels alone.
  Times endToEnd; ///< From call to return; on a GPU with copies there and back.
  Peaks peaks;    ///< Of the CPU; 0 where they do not matter.
  const RunProfile *profile;
  const Vector<int64_t> *dims; ///< the values of all dims of the model
  bool hasKernels;             ///< whether the kernels are printed one by one
};

/// Prints a result as lines for people.
void printBenchText(const BenchResult &result);
/// Prints a result as one JSON object.
void printBenchJson(const BenchResult &result);

} // namespace attn
