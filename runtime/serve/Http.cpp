// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libevent's HTTP server, and a descriptor by which other threads wake it.
#include "serve/Http.h"

#include "base/Clock.h"
#include <cerrno>
#include <csignal>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <initializer_list>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace attn {

/// How often a server looks whether clients that have connected wait, before it takes no more.
static constexpr int32_t mostClosings = 1000;

/// The server whose `run` this thread is in.
static thread_local HttpServer *running = nullptr;

/// What libevent calls.
struct HttpCallbacks {
  static void onRequest(evhttp_request *request, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    auto *exchange = create<Exchange>();
    evbuffer *input = evhttp_request_get_input_buffer(request);
    size_t size = evbuffer_get_length(input);
    if (!exchange || !exchange->body.resize(size + 1)) {
      dispose(exchange);
      evhttp_send_error(request, 503, "Service Unavailable");
      return;
    }
    exchange->request = request;
    exchange->server = server;
    exchange->arrived = secondsNow();
    exchange->bodySize = size;
    evbuffer_remove(input, exchange->body.data(), size);
    ++server->open;
    // What a client sends next waits in the socket; whether it has gone shows when the answer is
    // sent.
    if (evhttp_connection *connection = evhttp_request_get_connection(request))
      bufferevent_disable(evhttp_connection_get_bufferevent(connection), EV_READ);
    if (server->user.handle(server->user.self, *exchange))
      server->send(exchange);
  }

  static void onWake(evutil_socket_t descriptor, short, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    uint64_t count;
    (void)!read(descriptor, &count, sizeof count);
    pthread_mutex_lock(&server->lock);
    Exchange *list = server->finished, *streaming = server->streaming;
    server->finished = server->streaming = nullptr;
    server->finishedEnd = &server->finished;
    pthread_mutex_unlock(&server->lock);
    while (streaming) {
      Exchange *exchange = streaming;
      streaming = streaming->nextPiece;
      server->sendPieces(*exchange);
    }
    while (list) {
      Exchange *exchange = list;
      list = list->next;
      server->send(exchange);
    }
  }

  static void onSignal(evutil_socket_t, short, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    timeval time{server->drainSeconds, 0};
    if (!server->drains)
      evtimer_add(server->deadline, &time);
    server->drains = true;
  }

  static void onDeadline(evutil_socket_t, short, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    // What has connected would be reset.
    pollfd waiting{evhttp_bound_socket_get_fd(server->socket), POLLIN, 0};
    if (++server->closings < mostClosings && poll(&waiting, 1, 0) > 0) {
      timeval now{0, 0};
      evtimer_add(server->deadline, &now);
      return;
    }
    evhttp_del_accept_socket(server->http, server->socket);
    server->socket = nullptr;
    server->isClosed = true;
    server->endIfDone();
  }

  static void onQuiet(evutil_socket_t, short, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    if (server->open == 0)
      event_base_loopexit(server->base, nullptr);
  }

  /// No descriptor is left: connections wait in the kernel until some have ended. libevent hands
  /// over its own server here.
  static void onAcceptError(evconnlistener *listener, void *) {
    evconnlistener_disable(listener);
    timeval time{0, 100000};
    event_base_once(running->base, -1, EV_TIMEOUT, onAcceptAgain, running, &time);
  }
  static void onAcceptAgain(evutil_socket_t, short, void *given) {
    auto *server = static_cast<HttpServer *>(given);
    if (server->socket) // it may have been closed meanwhile
      evconnlistener_enable(evhttp_bound_socket_get_listener(server->socket));
  }
};

HttpServer::~HttpServer() {
  for (event *one : {wake, signals[0], signals[1], deadline, quiet})
    if (one)
      event_free(one);
  if (http)
    evhttp_free(http);
  if (base)
    event_base_free(base);
  if (wakeDescriptor >= 0)
    close(wakeDescriptor);
  pthread_mutex_destroy(&lock);
}

/// HOST:PORT, or [HOST]:PORT of IPv6.
static bool parseAddress(const char *address, Text &host, int32_t &port) {
  const char *colon = strrchr(address, ':');
  if (!colon || colon == address || !colon[1])
    return false;
  char *end = nullptr;
  long number = strtol(colon + 1, &end, 10);
  if (*end || number < 0 || number > 65535 || colon[1] < '0' || colon[1] > '9')
    return false;
  port = int32_t(number);
  bool isBracketed = address[0] == '[' && colon[-1] == ']';
  if (isBracketed)
    host.append("%.*s", int(colon - address - 2), address + 1);
  else if (memchr(address, ':', size_t(colon - address)))
    return false;
  else
    host.append("%.*s", int(colon - address), address);
  return !host.failed();
}

attn_status HttpServer::listen(const char *address, const HttpLimits &limits, const HttpUser &given,
                               Error &error) {
  Text host;
  int32_t number = 0;
  user = given;
  if (!parseAddress(address, host, number)) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s` is no address to listen at: expected HOST:PORT",
              address);
    error.help("127.0.0.1:8080 is reached from this machine alone, 0.0.0.0:8080 and [::]:8080 from "
               "others");
    return error.status;
  }
  signal(SIGPIPE, SIG_IGN);
  base = event_base_new();
  http = base ? evhttp_new(base) : nullptr;
  wakeDescriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (!http || wakeDescriptor < 0)
    return error.outOfMemory("the server");
  wake = event_new(base, wakeDescriptor, EV_READ | EV_PERSIST, HttpCallbacks::onWake, this);
  deadline = evtimer_new(base, HttpCallbacks::onDeadline, this);
  quiet = evtimer_new(base, HttpCallbacks::onQuiet, this);
  signals[0] = evsignal_new(base, SIGTERM, HttpCallbacks::onSignal, this);
  signals[1] = evsignal_new(base, SIGINT, HttpCallbacks::onSignal, this);
  if (!wake || !deadline || !quiet || !signals[0] || !signals[1])
    return error.outOfMemory("the server");
  event_add(wake, nullptr);
  evhttp_set_timeout(http, limits.timeout);
  evhttp_set_max_headers_size(http, 16384);
  evhttp_set_max_body_size(http, limits.mostBody);
  evhttp_set_default_content_type(http, nullptr);
  evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                       EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
                                       EVHTTP_REQ_PATCH);
  evhttp_set_gencb(http, HttpCallbacks::onRequest, this);
  socket = evhttp_bind_socket_with_handle(http, host.c_str(), uint16_t(number));
  if (!socket) {
    error.set(ATTN_IO, "R0801", "cannot listen at `%s`: %s", address, strerror(errno));
    error.help("another program may listen there: name another port, or 0 for any that is free");
    return error.status;
  }
  evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(socket),
                              HttpCallbacks::onAcceptError);
  return ATTN_OK;
}

int32_t HttpServer::port() const {
  sockaddr_storage address;
  socklen_t size = sizeof address;
  if (getsockname(evhttp_bound_socket_get_fd(socket), reinterpret_cast<sockaddr *>(&address),
                  &size) != 0)
    return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in &>(address).sin_port);
}

void HttpServer::run(int32_t drain) {
  drainSeconds = drain;
  running = this;
  // Until here signals end the program at once.
  event_add(signals[0], nullptr);
  event_add(signals[1], nullptr);
  event_base_dispatch(base);
  running = nullptr;
}

void HttpServer::endIfDone() {
  // For the last answers to leave, and for clients that have a connection and send a little later.
  timeval time{0, 500000};
  if (isClosed && open == 0)
    evtimer_add(quiet, &time);
}

void HttpServer::finish(Exchange *exchange) {
  exchange->next = nullptr;
  pthread_mutex_lock(&lock);
  *finishedEnd = exchange;
  finishedEnd = &exchange->next;
  pthread_mutex_unlock(&lock);
  uint64_t one = 1;
  (void)!write(wakeDescriptor, &one, sizeof one);
}

/// The words of a status line.
static const char *reasonOf(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 400:
    return "Bad Request";
  case 401:
    return "Unauthorized";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 422:
    return "Unprocessable Entity";
  case 429:
    return "Too Many Requests";
  case 503:
    return "Service Unavailable";
  default:
    return "Internal Server Error";
  }
}

bool HttpServer::stream(Exchange &exchange, const char *bytes, size_t size) {
  pthread_mutex_lock(&lock);
  bool isGood = !exchange.isGone && exchange.pieces.append(bytes, size);
  if (isGood && !exchange.isListed) {
    exchange.isListed = true;
    exchange.nextPiece = streaming;
    streaming = &exchange;
  }
  pthread_mutex_unlock(&lock);
  uint64_t one = 1;
  (void)!write(wakeDescriptor, &one, sizeof one);
  return isGood;
}

void HttpServer::addHeaders(const Exchange &exchange) const {
  evkeyvalq *headers = evhttp_request_get_output_headers(exchange.request);
  auto addNumber = [&](const char *name, int64_t value) {
    char number[24];
    snprintf(number, sizeof number, "%lld", static_cast<long long>(value));
    evhttp_add_header(headers, name, number);
  };
  if (exchange.answerHeaderSize >= 0)
    addNumber("Inference-Header-Content-Length", exchange.answerHeaderSize);
  if (exchange.partCount)
    addNumber("X-Queue-Length", exchange.ahead);
  if (exchange.status == 429 || exchange.status == 503)
    evhttp_add_header(headers, "Retry-After", "1");
  if (exchange.status == 401)
    evhttp_add_header(headers, "WWW-Authenticate", "Bearer");
  if (drains)
    evhttp_add_header(headers, "Connection", "close");
}

void HttpServer::sendPieces(Exchange &exchange) {
  bool isGone = !evhttp_request_get_connection(exchange.request);
  Vector<char> pieces;
  pthread_mutex_lock(&lock);
  pieces = static_cast<Vector<char> &&>(exchange.pieces);
  exchange.isListed = false;
  exchange.isGone = isGone;
  pthread_mutex_unlock(&lock);
  evbuffer *body = isGone ? nullptr : evbuffer_new();
  if (!body)
    return;
  if (!exchange.isStreamed) {
    evkeyvalq *headers = evhttp_request_get_output_headers(exchange.request);
    evhttp_add_header(headers, "Content-Type", "text/event-stream");
    evhttp_add_header(headers, "Cache-Control", "no-cache");
    addHeaders(exchange);
    evhttp_send_reply_start(exchange.request, 200, "OK");
    exchange.isStreamed = true;
  }
  exchange.streamed += pieces.size();
  evbuffer_add(body, pieces.data(), pieces.size());
  evhttp_send_reply_chunk(exchange.request, body);
  evbuffer_free(body);
}

void HttpServer::send(Exchange *exchange) {
  evhttp_request *request = exchange->request;
  --open;
  exchange->seconds = secondsNow() - exchange->arrived;
  user.note(user.self, *exchange);
  if (evhttp_connection *connection = evhttp_request_get_connection(request))
    bufferevent_enable(evhttp_connection_get_bufferevent(connection), EV_READ);
  evbuffer *body = evbuffer_new();
  if (exchange->isStreamed) {
    // An error comes too late for the status.
    bool isError = exchange->status != 200;
    if (body)
      evbuffer_add_printf(body, "%s%.*s%s", isError ? "data: " : "", int(exchange->answer.size()),
                          exchange->answer.data(), isError ? "\n\n" : "");
    if (body && evhttp_request_get_connection(request))
      evhttp_send_reply_chunk(request, body);
    evhttp_send_reply_end(request);
  } else {
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", exchange->type);
    addHeaders(*exchange);
    if (body)
      evbuffer_add(body, exchange->answer.data(), exchange->answer.size());
    evhttp_send_reply(request, exchange->status, reasonOf(exchange->status), body);
  }
  if (body)
    evbuffer_free(body);
  dispose(exchange);
  endIfDone();
}

} // namespace attn
