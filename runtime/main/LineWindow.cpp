// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading, ordering and running the lines of a window.
#include "main/LineWindow.h"
#include <cmath>

using namespace attn;

LineWindow::~LineWindow() {
  clear();
  for (attn_context *context : contexts)
    attn_context_destroy(context);
}

void LineWindow::clear() {
  for (Line &line : ownLines) {
    if (line.owned)
      work.release(line.owned);
    attn_message_free(line.message);
    free(line.members);
  }
  ownLines.clear();
}

attn_status LineWindow::begin(int64_t newDone, int64_t newCount) {
  done = begunAt = newDone, count = newCount, begun = secondsNow();
  // One line takes a thread at most where there are enough of them.
  int64_t threads = run.context->team.size();
  bool areMany = run.command->gpu < 0 && threads > 1 && count - done >= 2 * threads;
  if (!contexts.resize(areMany ? size_t(threads) : 0))
    return error.outOfMemory("contexts");
  char *message = nullptr;
  for (attn_context *&context : contexts)
    if (attn_status status = attn_context_create(run.context->model, 1, &context, &message)) {
      error.take(status, message);
      attn_message_free(message);
      return status;
    }
  return ATTN_OK;
}

attn_status LineWindow::onThreads(void (LineWindow::*newFunction)(int64_t thread)) {
  next.store(0);
  if (contexts.empty()) {
    (this->*newFunction)(0);
    return ATTN_OK;
  }
  function = newFunction;
  if (!run.context->team.prepare())
    return error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads",
                     int(run.context->team.size()));
  run.context->team.run(
      [](void *self, int64_t thread) {
        auto &window = *static_cast<LineWindow *>(self);
        (window.*window.function)(thread);
      },
      this);
  return ATTN_OK;
}

/// Writes down what is wrong with a line.
static void fail(Line &line, Error &problem) {
  line.length = -1;
  line.status = problem.report(&line.message);
}

void LineWindow::readLines(int64_t) {
  for (size_t i; (i = next.fetch_add(1)) < ownLines.size();) {
    Error problem;
    if (work.read(work.self, ownLines[i], problem))
      fail(ownLines[i], problem);
  }
}

attn_status LineWindow::read(const Vector<Slice> &sources, int64_t number) {
  clear();
  if (!ownLines.resize(sources.size()) || !ownValues.resize(sources.size() * size_t(work.width)))
    return error.outOfMemory("lines");
  for (size_t i = 0; i < ownLines.size(); ++i) {
    ownLines[i].source = sources[i];
    ownLines[i].number = number + int64_t(i);
    ownLines[i].vector = work.width > 0 ? ownValues.data() + i * size_t(work.width) : nullptr;
  }
  return onThreads(&LineWindow::readLines);
}

/// The longest first, so that threads end together; else in their order.
static int byLength(const void *left, const void *right) {
  const Line &one = **static_cast<Line *const *>(left),
             &other = **static_cast<Line *const *>(right);
  if (one.length != other.length)
    return one.length > other.length ? -1 : 1;
  return one.number < other.number ? -1 : one.number > other.number;
}

attn_status LineWindow::sortBatches(int64_t only) {
  order.clear();
  batches.clear();
  for (Line &line : ownLines)
    if (line.length >= 0 && !order.push(&line))
      return error.outOfMemory("lines");
  if (!order.empty())
    qsort(order.data(), order.size(), sizeof(Line *), byLength);
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    bool isAsked = only < 0;
    int64_t length = order[begin]->length, fitting = work.mostLength / (length > 0 ? length : 1);
    auto most = size_t(fitting < 1 ? 1 : fitting < work.most ? fitting : work.most);
    for (end = begin; end < order.size() && end - begin < most && order[end]->length == length;
         ++end)
      isAsked |= only >= 0 && order[end] == &ownLines[size_t(only)];
    if (isAsked && !batches.push({begin, end}))
      return error.outOfMemory("batches");
  }
  return ATTN_OK;
}

static bool isFinite(const float *values, int64_t count) {
  bool isGood = true;
  for (int64_t i = 0; i < count; ++i)
    isGood &= std::isfinite(values[i]);
  return isGood;
}

void LineWindow::makeBatch(attn_context &context, Line *const *batch, int64_t size) {
  Error problem;
  if (!work.make(work.self, context, batch, size, problem)) {
    for (int64_t i = 0; i < size; ++i)
      if (!isFinite(batch[i]->vector, work.width)) {
        Error wrong;
        wrong.set(ATTN_BAD_INPUT, "R0209", "its vector holds what is no number");
        fail(*batch[i], wrong);
      }
    return;
  }
  if (size == 1) {
    fail(*batch[0], problem);
    return;
  }
  for (int64_t i = 0; i < size; ++i) // which of them it is
    makeBatch(context, batch + i, 1);
}

void LineWindow::takeBatches(int64_t thread) {
  attn_context &context = contexts.empty() ? *run.context : *contexts[size_t(thread)];
  for (size_t i; (i = next.fetch_add(1)) < batches.size();) {
    auto size = int64_t(batches[i].end - batches[i].begin);
    makeBatch(context, order.data() + batches[i].begin, size);
    made.fetch_add(size);
    if (thread == 0)
      showProgress();
  }
}

attn_status LineWindow::makeBatches(int64_t only) {
  made.store(0);
  if (sortBatches(only) || onThreads(&LineWindow::takeBatches))
    return error.status;
  for (const Line &line : ownLines)
    for (int64_t i = 0; line.status && i < work.width; ++i)
      line.vector[i] = NAN;
  if (only < 0)
    done += int64_t(ownLines.size());
  return ATTN_OK;
}

void LineWindow::showProgress() {
  if (!progress.isDue())
    return;
  int64_t now = done + made.load();
  double seconds = secondsNow() - begun;
  double rate = double(now - begunAt) / (seconds > 1e-3 ? seconds : 1e-3);
  double left = double(count - now) / (rate > 1e-9 ? rate : 1e-9);
  Text time;
  if (left >= 5400)
    time.append("%.1f h", left / 3600);
  else if (left >= 90)
    time.append("%.0f min", left / 60);
  else
    time.append("%.0f s", left);
  progress.show("%lld of %lld lines, %.*f a second, %s left", static_cast<long long>(now),
                static_cast<long long>(count), rate < 10 ? 2 : 0, rate, time.c_str());
}
