// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request and its answer, between the thread that speaks HTTP and a worker.
#pragma once

#include "attn/attn.h"
#include "base/Text.h"
#include "base/Vector.h"

struct evhttp_request; // NOLINT(readability-identifier-naming): the name is libevent's

namespace attn {

/// An entry that is served, under the name "Model" or "Model.entry".
struct ServedEntry {
  attn_model *model;
  int32_t entry;
  char name[192];
};

/// One request until it is answered. Whoever holds it may change it: the server, then a worker,
/// then the server again.
struct Exchange {
  evhttp_request *request; ///< libevent's, until the answer is sent
  const char *method = "";
  Text path; ///< without what a `?` begins
  const ServedEntry *target = nullptr;
  Vector<char> body; ///< with a NUL behind it that `bodySize` does not count
  size_t bodySize = 0;
  int64_t headerSize = -1; ///< of a body of JSON and binary tensors: the bytes of the JSON

  int status = 200;
  const char *type = "application/json";
  Vector<char> answer;
  int64_t answerHeaderSize = -1; ///< likewise of the answer
  double queued = 0, computed = 0,
         seconds = 0;       ///< seconds that it waited, was computed, and took in all
  double arrived = 0;       ///< by secondsNow()
  Exchange *next = nullptr; ///< of a list

  /// Becomes an error that a client reads: {"error": "..."}.
  void fail(int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
};

} // namespace attn
