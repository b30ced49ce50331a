// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of lines: read on all threads, run in batches of one length, written in their order.
#include "main/LineJob.h"
#include "base/Json.h"
#include "io/Npy.h"
#include "main/LineFile.h"
#include "main/ProgressLine.h"
#include "main/RowFile.h"
#include "main/Shard.h"
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

namespace {

/// The job of one process.
class LineJob {
public:
  LineJob(const PromptRun &run, const LineWork &work, Error &error)
      : run(run), command(*run.command), work(work), error(error) {}
  ~LineJob() {
    clear();
    for (attn_context *context : contexts)
      attn_context_destroy(context);
  }
  attn_status runAll();

private:
  attn_status openOutputs();
  attn_status openFolder();
  attn_status resume();
  attn_status checkLast();
  attn_status countErrors(const char *path, int64_t wanted);
  attn_status makeContexts();
  attn_status readWindow(int64_t begin, int64_t end);
  attn_status makeWindow(int64_t only);
  attn_status sortBatches(int64_t only);
  attn_status keepWindow();
  /// Floats of a vector in a row of results.
  int64_t widthInRow() const { return hasVectors ? 0 : work.width; }
  attn_status finish();
  attn_status sayErrors();
  /// Calls a function of this job on all threads, or on this one where one has all of them.
  attn_status onThreads(void (LineJob::*function)(int64_t thread));
  void readLines(int64_t thread);
  void makeBatches(int64_t thread);
  void makeBatch(attn_context &context, Line *const *lines, int64_t count);
  void fail(Line &line, Error &problem);
  void showProgress();
  void clear();

  /// Lines of one length, places in `order`.
  struct Batch {
    size_t begin, end;
  };

  const PromptRun &run;
  const Command &command;
  const LineWork &work;
  Error &error;
  LineFile input;
  Shard shard;
  int64_t first = 0, count = 0; ///< lines of the shard
  int64_t done = 0, failures = 0;
  Text resultsPath, vectorsPath;
  bool hasVectors = false; ///< in a file of their own, not in rows
  bool isPrinted = false;  ///< rows go to standard output
  RowFile results, vectors;
  bool isFinished = false;         ///< by a run before
  Vector<attn_context *> contexts; ///< one for each thread; none where one has all of them
  // Of the window:
  Vector<char> bytes;
  Vector<Slice> sources;
  Vector<Line> lines;
  Vector<Line *> order;
  Vector<Batch> batches;
  Vector<float> values;
  void (LineJob::*function)(int64_t thread) = nullptr;
  std::atomic<size_t> next{0};
  std::atomic<int64_t> made{0};
  ProgressLine progress;
  double begun = 0;    ///< the second of the first line
  int64_t begunAt = 0; ///< lines that were there then
};

} // namespace

void LineJob::clear() {
  for (Line &line : lines) {
    if (line.owned)
      work.release(line.owned);
    attn_message_free(line.message);
    free(line.members);
  }
  lines.clear();
}

/// One file of results, or standard output.
static bool isOneFile(const char *path) {
  return strcmp(path, "-") == 0 || Slice(path).endsWith(Slice(".jsonl"));
}

attn_status LineJob::openFolder() {
  const char *folder = command.outputs[0].value;
  isPrinted = strcmp(folder, "-") == 0;
  if (isOneFile(folder)) {
    resultsPath.append("%s", folder);
    return resultsPath.failed() ? error.outOfMemory("file names") : ATTN_OK;
  }
  hasVectors = work.width > 0;
  struct stat info;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return error.set(ATTN_IO, "R0502", "cannot make the folder `%s`: %s", folder, strerror(errno));
  if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
    return error.set(ATTN_IO, "R0502", "cannot write to `%s`: it is no folder", folder);
  Text part;
  char number[32];
  if (shard.count > 1) {
    int digits = snprintf(number, sizeof number, "%lld", static_cast<long long>(shard.count));
    part.append("-%0*lld-of-%lld", digits, static_cast<long long>(shard.number),
                static_cast<long long>(shard.count));
  }
  const char *slash = Slice(folder).endsWith(Slice("/")) ? "" : "/";
  resultsPath.append("%s%sresults%s.jsonl", folder, slash, part.c_str());
  vectorsPath.append("%s%svectors%s.npy", folder, slash, part.c_str());
  return resultsPath.failed() || vectorsPath.failed() ? error.outOfMemory("file names") : ATTN_OK;
}

static bool isThere(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

attn_status LineJob::openOutputs() {
  if (command.shard)
    if (attn_status status = readShard(command.shard, shard, error))
      return status;
  if (input.open(command.lines, error))
    return error.status;
  if (input.lines() == 0)
    return error.set(ATTN_BAD_INPUT, "R0214", "`%s` has no lines", command.lines);
  first = shard.begin(input.lines());
  count = shard.end(input.lines()) - first;
  if (openFolder())
    return error.status;
  if (isPrinted && command.resumes) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--resume` goes on with files");
    error.help("pass `--output FOLDER` or `--output FILE.jsonl`");
    return error.status;
  }
  if (isPrinted)
    return ATTN_OK;
  Text resultsPart, vectorsPart;
  resultsPart.append("%s.part", resultsPath.c_str());
  vectorsPart.append("%s.part", vectorsPath.c_str());
  if (resultsPart.failed() || vectorsPart.failed())
    return error.outOfMemory("file names");
  bool wasBegun = command.resumes && isThere(resultsPart.c_str());
  isFinished = command.resumes && !wasBegun && isThere(resultsPath.c_str());
  if (isFinished)
    return countErrors(resultsPath.c_str(), count);
  // A run that was ended between the names of its two files.
  if (hasVectors && wasBegun && !isThere(vectorsPart.c_str()))
    rename(vectorsPath.c_str(), vectorsPart.c_str());
  Text head, none;
  attn_tensor rows = {nullptr, ATTN_F32, 2, {count, work.width}, nullptr, 0, 0};
  if (hasVectors && !appendNpyHeader(rows, head))
    return error.outOfMemory("a header");
  if (hasVectors &&
      vectors.open(vectorsPath.c_str(), head, size_t(work.width) * 4, command.resumes, error))
    return error.status;
  return results.open(resultsPath.c_str(), none, 0, command.resumes, error);
}

/// Counts the lines of a file of results that are errors.
attn_status LineJob::countErrors(const char *path, int64_t wanted) {
  LineFile file;
  if (attn_status status = file.open(path, error))
    return status;
  if (file.lines() != wanted) {
    error.set(ATTN_BAD_INPUT, "R0304", "`%s` has %lld rows, but `%s` has %lld lines for it", path,
              static_cast<long long>(file.lines()), command.lines, static_cast<long long>(wanted));
    error.help("remove it, or leave out `--resume`, to begin anew");
    return error.status;
  }
  file.seek(0);
  for (int64_t at = 0, size; at < wanted; at += size) {
    size = wanted - at < work.window ? wanted - at : work.window;
    if (attn_status status = file.read(size, bytes, sources, error))
      return status;
    for (const Slice &row : sources) {
      JsonReader json(row.data, row.size);
      Vector<char> key;
      json.enterObject();
      while (json.nextKey(key)) {
        failures += strcmp(key.data(), "error") == 0;
        json.skipValue();
      }
    }
  }
  return ATTN_OK;
}

/// Keeps the whole windows of a run before, so that the others are made of the same lines.
attn_status LineJob::resume() {
  int64_t rows = results.rows();
  if (hasVectors && vectors.rows() < rows)
    rows = vectors.rows();
  if (rows > count)
    return error.set(ATTN_BAD_INPUT, "R0304", "`%s` has %lld rows, but `%s` has %lld lines for it",
                     results.part(), static_cast<long long>(rows), command.lines,
                     static_cast<long long>(count));
  if (rows < count)
    rows -= rows % work.window;
  if (results.cut(rows, error) || (hasVectors && vectors.cut(rows, error)))
    return error.status;
  done = rows;
  return rows > 0 && countErrors(results.part(), rows) ? error.status : ATTN_OK;
}

/// The last row of a run before has to be what its line gives.
attn_status LineJob::checkLast() {
  int64_t last = done - 1, begin = last - last % work.window;
  Vector<char> there, wanted;
  if (readWindow(begin, done) || makeWindow(last - begin) || results.readLast(there, error))
    return error.status;
  const Line &line = lines[size_t(last - begin)];
  if (!line.appendResult(widthInRow(), wanted))
    return error.outOfMemory("a row");
  bool isSame = Slice(there) == Slice(wanted);
  if (isSame && hasVectors) {
    if (vectors.readLast(there, error))
      return error.status;
    isSame = there.size() == size_t(work.width) * 4 &&
             memcmp(there.data(), line.vector, there.size()) == 0;
  }
  if (isSame) {
    fprintf(stderr, "note: %lld rows were in `%s`\n", static_cast<long long>(done), results.part());
    return ATTN_OK;
  }
  error.set(ATTN_BAD_INPUT, "R0304",
            "`%s` was begun with other lines, weights or options: its row %lld is not that of "
            "`%s:%lld`",
            results.part(), static_cast<long long>(done), command.lines,
            static_cast<long long>(first) + static_cast<long long>(done));
  error.help("remove it, or leave out `--resume`, to begin anew");
  return error.status;
}

attn_status LineJob::makeContexts() {
  // One line takes a thread at most where there are enough of them.
  int64_t threads = run.context->team.size();
  bool areMany = command.gpu < 0 && threads > 1 && count - done >= 2 * threads;
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

attn_status LineJob::onThreads(void (LineJob::*newFunction)(int64_t thread)) {
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
        auto &job = *static_cast<LineJob *>(self);
        (job.*job.function)(thread);
      },
      this);
  return ATTN_OK;
}

/// Writes down what is wrong with a line.
void LineJob::fail(Line &line, Error &problem) {
  line.length = -1;
  line.status = problem.report(&line.message);
}

void LineJob::readLines(int64_t) {
  for (size_t i; (i = next.fetch_add(1)) < lines.size();) {
    Error problem;
    if (work.read(work.self, lines[i], problem))
      fail(lines[i], problem);
  }
}

attn_status LineJob::readWindow(int64_t begin, int64_t end) {
  clear();
  input.seek(first + begin);
  if (input.read(end - begin, bytes, sources, error))
    return error.status;
  if (!lines.resize(sources.size()) || !values.resize(size_t((end - begin) * work.width)))
    return error.outOfMemory("lines");
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].source = sources[i];
    lines[i].number = first + begin + int64_t(i) + 1;
    lines[i].vector = work.width > 0 ? values.data() + i * size_t(work.width) : nullptr;
  }
  return onThreads(&LineJob::readLines);
}

/// The longest first, so that threads end together; else in their order.
static int byLength(const void *left, const void *right) {
  const Line &one = **static_cast<Line *const *>(left),
             &other = **static_cast<Line *const *>(right);
  if (one.length != other.length)
    return one.length > other.length ? -1 : 1;
  return one.number < other.number ? -1 : one.number > other.number;
}

/// Cuts the lines that are right into batches; with `only` that of this line alone is left.
attn_status LineJob::sortBatches(int64_t only) {
  order.clear();
  batches.clear();
  for (Line &line : lines)
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
      isAsked |= only >= 0 && order[end] == &lines[size_t(only)];
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

void LineJob::makeBatch(attn_context &context, Line *const *batch, int64_t size) {
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

void LineJob::makeBatches(int64_t thread) {
  attn_context &context = contexts.empty() ? *run.context : *contexts[size_t(thread)];
  for (size_t i; (i = next.fetch_add(1)) < batches.size();) {
    auto size = int64_t(batches[i].end - batches[i].begin);
    makeBatch(context, order.data() + batches[i].begin, size);
    made.fetch_add(size);
    if (thread == 0)
      showProgress();
  }
}

attn_status LineJob::makeWindow(int64_t only) {
  made.store(0);
  return sortBatches(only) ? error.status : onThreads(&LineJob::makeBatches);
}

void LineJob::showProgress() {
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

attn_status LineJob::keepWindow() {
  Vector<char> rows;
  for (const Line &line : lines) {
    if (line.status && line.status != ATTN_BAD_INPUT && line.status != ATTN_IO) {
      error.take(line.status, line.message);
      error.note("`%s:%lld`", command.lines, static_cast<long long>(line.number));
      return error.status;
    }
    failures += line.status != ATTN_OK;
    if (!line.appendResult(widthInRow(), rows))
      return error.outOfMemory("rows");
    for (int64_t i = 0; line.status && i < work.width; ++i)
      line.vector[i] = NAN;
  }
  if (hasVectors && vectors.append(reinterpret_cast<const char *>(values.data()),
                                   values.size() * sizeof(float), int64_t(lines.size()), error))
    return error.status;
  if (!isPrinted)
    return results.append(rows.data(), rows.size(), int64_t(lines.size()), error);
  progress.erase();
  if (fwrite(rows.data(), 1, rows.size(), stdout) == rows.size() && fflush(stdout) == 0)
    return ATTN_OK;
  return error.set(ATTN_IO, "R0502", "cannot write to standard output: %s", strerror(errno));
}

attn_status LineJob::finish() {
  progress.erase();
  if (!isFinished) {
    if (input.checkUnchanged(error) || isPrinted)
      return error.status ? error.status : sayErrors();
    if ((hasVectors && vectors.commit(error)) || results.commit(error))
      return error.status;
  }
  fprintf(stderr, "%lld lines: `%s`", static_cast<long long>(count), resultsPath.c_str());
  if (hasVectors)
    fprintf(stderr, ", `%s`", vectorsPath.c_str());
  fprintf(stderr, isFinished ? ", which was there\n" : "\n");
  return sayErrors();
}

/// At the end: how many lines were errors.
attn_status LineJob::sayErrors() {
  if (failures == 0)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0218", "%lld of %lld lines of `%s` have errors",
            static_cast<long long>(failures), static_cast<long long>(count), command.lines);
  if (isPrinted)
    error.help("their rows say what is wrong: \"error\"");
  else
    error.help("their rows in `%s` say what is wrong: \"error\"", resultsPath.c_str());
  return error.status;
}

attn_status LineJob::runAll() {
  if (openOutputs())
    return error.status;
  if (isFinished)
    return finish();
  if ((!isPrinted && resume()) || run.bind(run) || makeContexts() || (done > 0 && checkLast()))
    return error.status;
  begun = secondsNow(), begunAt = done;
  while (done < count) {
    int64_t end = count - done < work.window ? count : done + work.window;
    if (readWindow(done, end) || makeWindow(-1) || keepWindow())
      return error.status;
    done = end;
  }
  return finish();
}

attn_status attn::runLines(const PromptRun &run, const LineWork &work, Error &error) {
  return LineJob(run, work, error).runAll();
}
