// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request and its answer, between the thread that speaks HTTP and the workers.
#pragma once

#include "attn/attn.h"
#include "base/Text.h"
#include "base/Vector.h"

struct evhttp_request; // NOLINT(readability-identifier-naming): the name is libevent's

namespace attn {

class HttpServer;
struct Exchange;

/// An entry that is served, under the name "Model" or "Model.entry".
struct ServedEntry {
  attn_model *model;
  int32_t entry;
  char name[192];
};

/// A part of a request that one run computes: alone, or as rows of a batch with other parts that
/// are alike, of whatever requests.
struct Part {
  Exchange *exchange = nullptr;
  const ServedEntry *target = nullptr;
  /// What parts that are alike have in common besides their target and kind of request; belongs to
  /// the request's work.
  const int64_t *sizes = nullptr;
  size_t sizeCount = 0;
  int64_t rows = 1;      ///< of a batch
  int64_t mostRows = 1;  ///< rows that a run of such parts should have: below 2 it runs alone
  size_t index = 0;      ///< among the parts of its request
  bool isShared = false; ///< its worker waits for steps that it shares with others (SharedSteps.h)
  attn_status status = ATTN_OK;
  char *message = nullptr; ///< of an error
  Part *next = nullptr;    ///< of a list
  ~Part() { attn_message_free(message); }
};

/// A kind of request: who reads it, computes its parts and writes its answer, all on workers.
struct RequestKind {
  /// Reads the body: makes `work` and `parts` of the exchange, or an error. What it leaves without
  /// parts is answered at once.
  void (*read)(Exchange &exchange);
  /// Runs parts that are alike, one at least.
  attn_status (*compute)(attn_context *context, Part *const *parts, size_t count, char **message);
  /// Writes the answer, when all parts have been computed.
  void (*answer)(Exchange &exchange);
  /// Frees the work; null is allowed.
  void (*release)(void *work);
};

/// How long what is measured took: how often it took up to so many seconds, and longer.
struct Durations {
  static constexpr int count = 12;
  /// Bounds of the classes but the last one.
  static constexpr double bounds[count - 1] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                               0.1,   0.25,   0.5,   1,    5};
  int64_t times[count] = {};
  double seconds = 0;
  void add(double taken);
  void add(const Durations &other); ///< all of it
};

/// What a request has cost that makes text.
struct TextCounts {
  int64_t kept = 0, read = 0, written = 0; ///< tokens: kept and read of prompts
  Durations first, between;                ///< up to the first piece of text, between two
  void add(const TextCounts &other);       ///< all of it
};

/// One request until it is answered. Whoever holds it may change it: the server, then a worker, or
/// several of which each has other parts, then the server again.
struct Exchange {
  evhttp_request *request; ///< libevent's, until the answer is sent
  HttpServer *server = nullptr;
  const char *method = "";
  Text path; ///< without what a `?` begins
  const ServedEntry *target = nullptr;
  void *texts = nullptr;   ///< what texts need, of a kind of request that takes some
  bool isOfOpenAi = false; ///< whether errors are read by clients of OpenAI's API
  Vector<char> body;       ///< with a NUL behind it that `bodySize` does not count
  size_t bodySize = 0;
  int64_t headerSize = -1; ///< of a body of JSON and binary tensors: the bytes of the JSON

  const RequestKind *kind = nullptr;
  void *work = nullptr; ///< what the kind knows of it
  Part *parts = nullptr;
  size_t partCount = 0, partsLeft = 0; ///< left to compute; under the lock of the workers
  bool isTaken = false;                ///< whether it waits no more; under the same lock

  int status = 200;
  const char *type = "application/json";
  Vector<char> answer;
  int64_t answerHeaderSize = -1; ///< likewise of the answer
  // What is sent before the answer, piece by piece (HttpServer::stream).
  Vector<char> pieces;            ///< that wait for the server's thread; under its lock
  Exchange *nextPiece = nullptr;  ///< of its list of those
  bool isListed = false;          ///< whether it is in that list
  bool isGone = false;            ///< whether no one listens any more
  bool isStreamed = false;        ///< whether pieces have been sent: the answer ends them
  size_t streamed = 0;            ///< bytes of these
  int64_t ahead = 0;              ///< requests that waited when it came
  double arrived = 0, queued = 0; ///< when it came, and was queued, by secondsNow()
  double waited = 0, computed = 0,
         seconds = 0;       ///< seconds that it waited, was computed, and took in all
  TextCounts text;          ///< of one that makes text
  Exchange *next = nullptr; ///< of a list

  ~Exchange();
  /// Makes `count` parts for `target`; false, and an error, without memory for them.
  bool makeParts(size_t count);
  /// Becomes an error that a client reads: {"error": "..."}, of OpenAI's API {"error": {"message":
  /// "...", "type": ..., "param": null, "code": null}}.
  void fail(int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
  /// The same of what a call has returned, with its message.
  void fail(attn_status code, const char *message);
  /// Says that there is no memory for it; false.
  bool failWithoutMemory();
};

} // namespace attn
