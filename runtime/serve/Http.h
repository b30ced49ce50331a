// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HTTP by libevent: connections, bodies and answers, all on one thread.
#pragma once

#include "base/Error.h"
#include "serve/Exchange.h"
#include <pthread.h>

struct event;               // NOLINT(readability-identifier-naming): the names are libevent's
struct event_base;          // NOLINT(readability-identifier-naming)
struct evhttp;              // NOLINT(readability-identifier-naming)
struct evhttp_bound_socket; // NOLINT(readability-identifier-naming)

namespace attn {

/// What HTTP bears.
struct HttpLimits {
  int32_t mostBody, timeout;
};

/// Who answers requests.
struct HttpUser {
  void *self;
  /// Gets a request, and either answers it at once (true) or passes it on, to be given to `finish`.
  bool (*handle)(void *self, Exchange &exchange);
  /// Is told of each answer when it is sent.
  void (*note)(void *self, const Exchange &exchange);
};

/// Listens, and hands over requests. All but `finish` and `stop` is called by one thread.
class HttpServer {
public:
  HttpServer() = default;
  HttpServer(const HttpServer &) = delete;
  HttpServer &operator=(const HttpServer &) = delete;
  ~HttpServer();

  /// Listens at HOST:PORT.
  attn_status listen(const char *address, const HttpLimits &limits, const HttpUser &user,
                     Error &error);
  /// The port in use.
  int32_t port() const;
  /// Answers until `drained` and nothing is under way. After SIGTERM or SIGINT `isDraining` is
  /// true; `drain` seconds later no connection is taken any more.
  void run(int32_t drain);
  bool isDraining() const { return drains; }

  /// Has the thread of `run` send the answer; called by any thread.
  void finish(Exchange *exchange);
  /// Has it send a piece of an answer of server-sent events before; called by the thread that
  /// computes it. False where the client has gone, or no memory is left.
  bool stream(Exchange &exchange, const char *bytes, size_t size);

private:
  friend struct HttpCallbacks;
  /// Sends an answer, and frees the exchange.
  void send(Exchange *exchange);
  /// Sends the pieces of a stream that are there; under no lock.
  void sendPieces(Exchange &exchange);
  /// Adds those that all answers have.
  void addHeaders(const Exchange &exchange) const;
  /// Where nothing is under way and no connection is taken any more: ends `run` soon, unless
  /// another request comes over a connection that is there.
  void endIfDone();

  event_base *base = nullptr;
  evhttp *http = nullptr;
  evhttp_bound_socket *socket = nullptr;
  event *wake = nullptr, *signals[2] = {}, *deadline = nullptr, *quiet = nullptr;
  int wakeDescriptor = -1;
  HttpUser user = {};
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Exchange *finished = nullptr, **finishedEnd = &finished;
  Exchange *streaming = nullptr; ///< with pieces to send
  int64_t open = 0;              ///< requests without an answer
  int32_t drainSeconds = 0, closings = 0;
  bool drains = false, isClosed = false;
};

} // namespace attn
