// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models over HTTP: the entries of compiled models by the Open Inference Protocol (KServe v2),
// without a line of configuration, and texts by the paths of other servers. Requests are read and
// answered by one thread, and computed by a team of workers, each with contexts of its own.
#pragma once

#include "base/Error.h"

namespace attn {

/// Called when all else has been found right: binds the weights, which takes longest.
struct BindWeights {
  void *user = nullptr;
  attn_status (*bind)(void *user, Error &error) = nullptr;
};

/// A model that is served, and where its files may lie; strings outlive the server.
struct ServedModel {
  attn_model *model = nullptr;
  const char *weights = nullptr;   ///< a file or a folder; null: embedded, or random ones
  const char *tokenizer = nullptr; ///< likewise; null: embedded, beside the weights, or none
};

/// How a server listens, and what it bears.
struct ServeOptions {
  const char *listen = "127.0.0.1:8080"; ///< HOST:PORT, "[::1]:8080"; port 0: any that is free
  int32_t workers = 0;                   ///< requests computed at a time; 0: as many as CPUs
  int32_t threads = 1;                   ///< of each of them
  int32_t mostRows = 0;                  ///< of a batch; 0: as many as make a run faster; 1: none
  int32_t batchWait = 0;                 ///< milliseconds that a request may wait for others
  const char *keys = nullptr;            ///< a file with an API key a line; null: none is asked for
  int32_t mostQueued = 256;              ///< requests that wait; more are answered with 429
  int32_t mostBody = 64;                 ///< MB of a request; more are answered with 413
  int32_t timeout = 30;                  ///< seconds that a connection may be silent
  int32_t drain = 1;                     ///< seconds from SIGTERM until connections are refused
};

/// Answers requests until SIGTERM or SIGINT, then those under way, and returns. The models are the
/// caller's, and have their weights when `weights` has been called. One line is printed on standard
/// error when the server is ready, and one of JSON for each request. ATTN_IO: the address cannot be
/// listened at, a file of keys cannot be read; ATTN_INVALID_ARGUMENT: what is no address;
/// ATTN_OUT_OF_MEMORY; what `weights` returns.
attn_status serve(const ServedModel *models, size_t count, const ServeOptions &options,
                  const BindWeights &weights, Error &error);

} // namespace attn
