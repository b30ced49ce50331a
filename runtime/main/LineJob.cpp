// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of lines, whose results are written in their order.
#include "main/LineJob.h"
#include "base/Json.h"
#include "io/Npy.h"
#include "main/LineFile.h"
#include "main/LineWindow.h"
#include "main/RowFile.h"
#include "main/Shard.h"
#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

namespace {

/// The job of one process.
class LineJob {
public:
  LineJob(const PromptRun &run, const LineWork &work, Error &error)
      : run(run), command(*run.command), work(work), error(error), window(run, work, error) {}
  attn_status runAll();

private:
  attn_status openOutputs();
  attn_status openFolder();
  attn_status resume();
  attn_status checkLast();
  attn_status countErrors(const char *path, int64_t wanted);
  attn_status readWindow(int64_t begin, int64_t end);
  attn_status keepWindow();
  /// Floats of a vector in a row of results.
  int64_t widthInRow() const { return hasVectors ? 0 : work.width; }
  attn_status finish();
  attn_status sayErrors();

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
  bool isFinished = false; ///< by a run before
  Vector<char> bytes;      ///< of the window
  Vector<Slice> sources;
  LineWindow window;
};

} // namespace

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

attn_status LineJob::readWindow(int64_t begin, int64_t end) {
  input.seek(first + begin);
  return input.read(end - begin, bytes, sources, error) ? error.status
                                                        : window.read(sources, first + begin + 1);
}

/// The last row of a run before has to be what its line gives.
attn_status LineJob::checkLast() {
  int64_t last = done - 1, begin = last - last % work.window;
  Vector<char> there, wanted;
  if (readWindow(begin, done) || window.makeOne(last - begin) || results.readLast(there, error))
    return error.status;
  const Line &line = window.lines()[size_t(last - begin)];
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

attn_status LineJob::keepWindow() {
  Vector<char> rows;
  for (const Line &line : window.lines()) {
    if (line.status && line.status != ATTN_BAD_INPUT && line.status != ATTN_IO) {
      error.take(line.status, line.message);
      error.note("`%s:%lld`", command.lines, static_cast<long long>(line.number));
      return error.status;
    }
    failures += line.status != ATTN_OK;
    if (!line.appendResult(widthInRow(), rows))
      return error.outOfMemory("rows");
  }
  auto made = int64_t(window.lines().size());
  const Vector<float> &values = window.values();
  if (hasVectors && vectors.append(reinterpret_cast<const char *>(values.data()),
                                   values.size() * sizeof(float), made, error))
    return error.status;
  if (!isPrinted)
    return results.append(rows.data(), rows.size(), made, error);
  window.hideProgress();
  if (fwrite(rows.data(), 1, rows.size(), stdout) == rows.size() && fflush(stdout) == 0)
    return ATTN_OK;
  return error.set(ATTN_IO, "R0502", "cannot write to standard output: %s", strerror(errno));
}

attn_status LineJob::finish() {
  window.hideProgress();
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
  if ((!isPrinted && resume()) || run.bind(run) || window.begin(done, count) ||
      (done > 0 && checkLast()))
    return error.status;
  while (done < count) {
    int64_t end = count - done < work.window ? count : done + work.window;
    if (readWindow(done, end) || window.make() || keepWindow())
      return error.status;
    done = end;
  }
  return finish();
}

attn_status attn::runLines(const PromptRun &run, const LineWork &work, Error &error) {
  return LineJob(run, work, error).runAll();
}
