// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some lines at a time: read on all threads, run in batches of one length.
#pragma once

#include "main/LineJob.h"
#include "main/ProgressLine.h"
#include <atomic>

namespace attn {

/// The lines that are read, ordered by length and run together; results depend neither on which
/// these are nor on the threads.
class LineWindow {
public:
  /// Run, work and error outlive it.
  LineWindow(const PromptRun &run, const LineWork &work, Error &error)
      : run(run), work(work), error(error) {}
  LineWindow(const LineWindow &) = delete;
  LineWindow &operator=(const LineWindow &) = delete;
  ~LineWindow();

  /// Makes ready for `count` lines, of which `done` were there before. Comes first.
  attn_status begin(int64_t done, int64_t count);
  /// Reads lines, the first of which has a number. Their bytes outlive the window's use of them.
  attn_status read(const Vector<Slice> &sources, int64_t number);
  /// Makes the results of the lines that are right.
  attn_status make() { return makeBatches(-1); }
  /// Makes those of the batch of line `only` of the window, from 0 on.
  attn_status makeOne(int64_t only) { return makeBatches(only); }
  /// The lines that were read last; what is wrong with one is its status.
  Vector<Line> &lines() { return ownLines; }
  /// Their vectors, of the work's width each; NaN where the line is an error.
  Vector<float> &values() { return ownValues; }
  /// Takes the progress off the terminal, before anything else is written.
  void hideProgress() { progress.erase(); }

private:
  /// Lines of one length, places in `order`.
  struct Batch {
    size_t begin, end;
  };

  /// Runs the batches that `sortBatches` leaves.
  attn_status makeBatches(int64_t only);
  /// Cuts the lines that are right into batches; with `only` >= 0 that of this line alone is left.
  attn_status sortBatches(int64_t only);
  /// Calls a function of this window on all threads, or on this one where one has all of them.
  attn_status onThreads(void (LineWindow::*function)(int64_t thread));
  void readLines(int64_t thread);
  void takeBatches(int64_t thread);
  void makeBatch(attn_context &context, Line *const *batch, int64_t size);
  void showProgress();
  void clear();

  const PromptRun &run;
  const LineWork &work;
  Error &error;
  Vector<attn_context *> contexts; ///< one for each thread; none where one has all of them
  Vector<Line> ownLines;
  Vector<float> ownValues;
  Vector<Line *> order;
  Vector<Batch> batches;
  void (LineWindow::*function)(int64_t thread) = nullptr;
  std::atomic<size_t> next{0};
  std::atomic<int64_t> made{0};
  ProgressLine progress;
  int64_t count = 0, done = 0; ///< of the job
  double begun = 0;            ///< the second of the first line
  int64_t begunAt = 0;         ///< lines that were there then
};

} // namespace attn
