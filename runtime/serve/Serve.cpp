// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths to answers, and the workers that compute them.
#include "serve/Serve.h"
#include "base/Json.h"

#include "base/Slice.h"
#include "io/File.h"
#include "main/Report.h"
#include "serve/Http.h"
#include "serve/Kserve.h"
#include "serve/Texts.h"
#include "serve/Workers.h"
#include <cstdio>
#include <ctime>
#include <event2/http.h>

#pragma weak attn_serve_texts_open
#pragma weak attn_serve_texts_close
#pragma weak attn_serve_texts_rows
#pragma weak attn_serve_texts_kind

namespace attn {

namespace {

/// A server with its models.
class Server {
public:
  explicit Server(const ServeOptions &options) : options(options) {}
  ~Server() {
    if (texts)
      attn_serve_texts_close(texts);
    for (ServedEntry *entry : entries)
      dispose(entry);
  }

  attn_status addModel(attn_model *model, Error &error);
  /// Opens what models need for texts, where that is linked.
  attn_status openTexts(const ServedModel *models, size_t count, Error &error);
  attn_status run(const BindWeights &weights, Error &error);

private:
  /// What is answered at a path; true where it is answered at once.
  bool route(Exchange &exchange, const char *method, const char *path);
  /// v2/models/NAME...
  bool routeModel(Exchange &exchange, bool isGet, const char *rest);
  /// Queues a request; true where too many wait, which is the answer.
  bool submit(Exchange &exchange, const RequestKind &kind);
  ServedEntry *findEntry(const char *name, size_t length);
  /// Reads --api-keys, a key in each line.
  attn_status readKeys(Error &error);
  bool isAllowed(evhttp_request *request) const;
  void listModels(Exchange &exchange) const;
  void writeMetrics(Exchange &exchange) const;
  void writeTextMetrics(Text &text) const;
  static bool onRequest(void *self, Exchange &exchange);
  /// Counts an answer, and writes a line of JSON about it to standard error.
  static void onAnswer(void *self, const Exchange &exchange);

  const ServeOptions &options;
  Vector<ServedEntry *> entries;
  void *texts = nullptr; ///< null where no model takes texts
  Vector<char> keyFile;
  Vector<Slice> keys; ///< in it
  HttpServer http;
  Workers workers;
  int64_t answered[6] = {}; ///< by the first digit of the status
  TextCounts counts;        ///< of all that have been answered
};

void setAnswer(Exchange &exchange, const Text &text) {
  if (text.failed() || !exchange.answer.append(text.c_str(), text.size()))
    exchange.fail(503, "no memory for the answer; try again later");
}

attn_status Server::addModel(attn_model *model, Error &error) {
  int32_t count = attn_model_entry_count(model);
  for (int32_t i = 0; i < count; ++i) {
    auto *entry = create<ServedEntry>();
    if (!entry || !entries.push(entry))
      return error.outOfMemory("the server");
    entry->model = model;
    entry->entry = i;
    snprintf(entry->name, sizeof entry->name, count == 1 ? "%s" : "%s.%s", attn_model_name(model),
             attn_model_entry_name(model, i));
    for (size_t other = 0; other + 1 < entries.size(); ++other)
      if (strcmp(entries[other]->name, entry->name) == 0)
        return error.set(ATTN_INVALID_ARGUMENT, "U0002", "two of the models are called `%s`",
                         attn_model_name(model));
  }
  return ATTN_OK;
}

attn_status Server::openTexts(const ServedModel *models, size_t count, Error &error) {
  if (attn_serve_texts_open)
    texts = attn_serve_texts_open(models, count, &entries, &error);
  return error.status;
}

attn_status Server::readKeys(Error &error) {
  if (readFile(options.keys, size_t(1) << 20, keyFile, error))
    return error.status;
  for (const char *line = keyFile.begin(); line < keyFile.end();) {
    auto *end = static_cast<const char *>(memchr(line, '\n', size_t(keyFile.end() - line)));
    end = end ? end : keyFile.end();
    Slice key{line, size_t(end - line)};
    if (key.size && key.data[key.size - 1] == '\r') // of an editor on Windows
      --key.size;
    if (key.size && !keys.push(key))
      return error.outOfMemory("the API keys");
    line = end + 1;
  }
  if (keys.empty())
    return error.set(ATTN_BAD_INPUT, "R0802", "`%s` holds no API key: expected one a line",
                     options.keys);
  return ATTN_OK;
}

attn_status Server::run(const BindWeights &weights, Error &error) {
  if (options.keys && readKeys(error))
    return error.status;
  int32_t waiters = texts ? attn_serve_texts_rows(texts) : 0;
  if (http.listen(options.listen, {options.mostBody << 20, options.timeout},
                  {this, onRequest, onAnswer}, error) ||
      (weights.bind && weights.bind(weights.user, error)) ||
      workers.start(options, waiters, http, error))
    return error.status;
  fprintf(stderr, "ready at port %d: %zu entries, %d workers\n", int(http.port()), entries.size(),
          int(workers.size()));
  http.run(options.drain);
  workers.stop();
  return ATTN_OK;
}

ServedEntry *Server::findEntry(const char *name, size_t length) {
  for (ServedEntry *entry : entries)
    if (strlen(entry->name) == length && memcmp(entry->name, name, length) == 0)
      return entry;
  return nullptr;
}

/// Compares in a time that says nothing of what is equal.
static bool isEqual(const char *a, const char *b, size_t size) {
  unsigned char differs = 0;
  for (size_t i = 0; i < size; ++i)
    differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return !differs;
}

bool Server::isAllowed(evhttp_request *request) const {
  if (!options.keys)
    return true;
  const char *given =
      evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
  if (!given || strncmp(given, "Bearer ", 7) != 0)
    return false;
  given += 7;
  size_t length = strlen(given);
  bool isKnown = false;
  for (const Slice &key : keys)
    if (key.size == length)
      isKnown |= isEqual(key.data, given, length);
  return isKnown;
}

/// Appends a model as OpenAI's API has them.
static void appendModel(const ServedEntry &entry, Text &text) {
  text.append("{\"id\": ");
  appendJsonString(text, entry.name);
  text.append(", \"object\": \"model\", \"created\": 0, \"owned_by\": \"attn\"}");
}

void Server::listModels(Exchange &exchange) const {
  Text text;
  text.append("{\"object\": \"list\", \"data\": [");
  for (size_t i = 0; i < entries.size(); ++i) {
    text.append(i ? ", " : "");
    appendModel(*entries[i], text);
  }
  text.append("]}");
  setAnswer(exchange, text);
}

/// Appends a histogram.
static void appendDurations(const char *name, const char *help, const Durations &durations,
                            Text &text) {
  text.append("# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
  int64_t count = 0;
  for (int i = 0; i < Durations::count; ++i) {
    count += durations.times[i];
    if (i + 1 < Durations::count)
      text.append("%s_bucket{le=\"%g\"} %lld\n", name, Durations::bounds[i],
                  static_cast<long long>(count));
  }
  text.append("%s_bucket{le=\"+Inf\"} %lld\n%s_sum %.6f\n%s_count %lld\n", name,
              static_cast<long long>(count), name, durations.seconds, name,
              static_cast<long long>(count));
}

void Server::writeTextMetrics(Text &text) const {
  const struct {
    const char *name, *help;
    int64_t count;
  } counters[] = {
      {"attn_prompt_tokens_total", "Tokens of prompts that were computed.", counts.read},
      {"attn_cached_tokens_total", "Tokens of prompts that a cache held already.", counts.kept},
      {"attn_written_tokens_total", "Tokens that were chosen.", counts.written}};
  for (const auto &counter : counters)
    text.append("# HELP %s %s\n# TYPE %s counter\n%s %lld\n", counter.name, counter.help,
                counter.name, counter.name, static_cast<long long>(counter.count));
  appendDurations("attn_first_text_seconds",
                  "Time from a request to its first piece of text, by requests that have ended.",
                  counts.first, text);
  appendDurations("attn_between_texts_seconds",
                  "Time between two pieces of a text, each of which is a token or a few.",
                  counts.between, text);
}

void Server::writeMetrics(Exchange &exchange) const {
  Text text;
  text.append("# HELP attn_requests_total Requests that were read and answered, by class of "
              "status.\n# TYPE "
              "attn_requests_total counter\n");
  for (int i = 2; i < 6; ++i)
    text.append("attn_requests_total{status=\"%dxx\"} %lld\n", i,
                static_cast<long long>(answered[i]));
  WorkerCounts counts = workers.counts();
  text.append("# HELP attn_queue_length Requests that wait for a worker.\n# TYPE attn_queue_length "
              "gauge\nattn_queue_length %lld\n",
              static_cast<long long>(counts.queued));
  text.append("# HELP attn_inferences_total Inferences that were computed.\n"
              "# TYPE attn_inferences_total counter\nattn_inferences_total %lld\n",
              static_cast<long long>(counts.computed));
  text.append("# HELP attn_runs_total Runs of entries, each of which computes a batch of them.\n"
              "# TYPE attn_runs_total counter\nattn_runs_total %lld\n",
              static_cast<long long>(counts.runs));
  text.append("# HELP attn_queue_seconds_total Time that requests have waited.\n# TYPE "
              "attn_queue_seconds_total counter\n"
              "attn_queue_seconds_total %.6f\n",
              counts.queuedSeconds);
  text.append("# HELP attn_inference_seconds_total Time of reading, running and writing them.\n"
              "# TYPE attn_inference_seconds_total counter\nattn_inference_seconds_total %.6f\n",
              counts.computedSeconds);
  writeTextMetrics(text);
  exchange.type = "text/plain; version=0.0.4";
  setAnswer(exchange, text);
}

bool Server::submit(Exchange &exchange, const RequestKind &kind) {
  exchange.kind = &kind;
  if (workers.submit(&exchange))
    return false;
  exchange.fail(429, "%d requests wait already; try again later", int(options.mostQueued));
  return true;
}

bool Server::routeModel(Exchange &exchange, bool isGet, const char *rest) {
  const char *slash = strchr(rest, '/');
  size_t length = slash ? size_t(slash - rest) : strlen(rest);
  exchange.target = findEntry(rest, length);
  if (!exchange.target) {
    exchange.fail(404, "there is no model `%.*s` (GET /v1/models lists them)",
                  int(length > 100 ? 100 : length), rest);
    return true;
  }
  const char *action = slash ? slash : "";
  if (strncmp(action, "/versions/1", 11) == 0 && (action[11] == '/' || !action[11]))
    action += 11;
  Text text;
  if (strcmp(action, "/infer") == 0) {
    if (isGet)
      return exchange.fail(405, "an inference is a POST"), true;
    return submit(exchange, inferRequests);
  }
  if (strcmp(action, "/ready") == 0)
    text.append("{\"name\": \"%s\", \"ready\": true}", exchange.target->name);
  else if (!*action)
    describeEntry(*exchange.target, text);
  else
    return exchange.fail(404, "a model has no `%.100s`: it has /infer, /ready and its own path",
                         action),
           true;
  if (!isGet)
    return exchange.fail(405, "what a model is, is read by GET"), true;
  return setAnswer(exchange, text), true;
}

bool Server::route(Exchange &exchange, const char *method, const char *path) {
  bool isGet = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
  auto is = [&](const char *known) { return strcmp(path, known) == 0; };
  Text text;
  if (!isGet && strcmp(method, "POST") != 0)
    return exchange.fail(405, "expected GET, HEAD or POST, but got %s", method), true;
  if (is("/v2/health/live") || is("/health/live")) {
    text.append("{\"live\": true}");
  } else if (is("/v2/health/ready") || is("/health/ready")) {
    if (http.isDraining())
      return exchange.fail(503, "the server is about to end"), true;
    text.append("{\"ready\": true}");
  } else if (!isAllowed(exchange.request)) {
    return exchange.fail(401, "expected a known API key: `Authorization: Bearer KEY`"), true;
  } else if (is("/v2") || is("/v2/")) {
    text.append(
        "{\"name\": \"attn\", \"version\": \"%s\", \"extensions\": [\"binary_tensor_data\"]}",
        attn_model_version(entries[0]->model));
  } else if (is("/v1/models")) {
    return listModels(exchange), true;
  } else if (strncmp(path, "/v1/models/", 11) == 0) {
    const ServedEntry *entry = findEntry(path + 11, strlen(path + 11));
    if (!entry)
      return exchange.fail(404, "there is no model `%.100s` (GET /v1/models lists them)",
                           path + 11),
             true;
    appendModel(*entry, text);
  } else if (is("/metrics")) {
    return writeMetrics(exchange), true;
  } else if (strncmp(path, "/v2/models/", 11) == 0) {
    return routeModel(exchange, isGet, path + 11);
  } else if (const RequestKind *kind = texts ? attn_serve_texts_kind(path) : nullptr) {
    if (isGet)
      return exchange.fail(405, "`%s` is a POST", path), true;
    exchange.texts = texts;
    return submit(exchange, *kind);
  } else {
    return exchange.fail(404,
                         "there is no `%.200s`: there are /v2, /v2/health/ready, /v2/models/NAME, "
                         "/v1/models and /metrics%s",
                         path, texts ? ", and the paths of texts: /v1/chat/completions, ..." : ""),
           true;
  }
  return setAnswer(exchange, text), true;
}

static const char *methodName(evhttp_request *request) {
  switch (evhttp_request_get_command(request)) {
  case EVHTTP_REQ_GET:
    return "GET";
  case EVHTTP_REQ_POST:
    return "POST";
  case EVHTTP_REQ_HEAD:
    return "HEAD";
  case EVHTTP_REQ_PUT:
    return "PUT";
  case EVHTTP_REQ_DELETE:
    return "DELETE";
  case EVHTTP_REQ_OPTIONS:
    return "OPTIONS";
  default:
    return "another method";
  }
}

bool Server::onRequest(void *self, Exchange &exchange) {
  auto *server = static_cast<Server *>(self);
  evhttp_request *request = exchange.request;
  const evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
  const char *path = uri ? evhttp_uri_get_path(uri) : nullptr;
  exchange.method = methodName(request);
  exchange.path.append("%s", path && *path ? path : "/");
  exchange.isOfOpenAi = strncmp(exchange.path.c_str(), "/v1/", 4) == 0;
  if (const char *length = evhttp_find_header(evhttp_request_get_input_headers(request),
                                              "Inference-Header-Content-Length")) {
    char *end = nullptr;
    exchange.headerSize = strtoll(length, &end, 10);
    if (*end || exchange.headerSize < 0 || end == length)
      return exchange.fail(400, "header `Inference-Header-Content-Length` is no number of bytes"),
             true;
  }
  return server->route(exchange, exchange.method, exchange.path.c_str());
}

void Server::onAnswer(void *self, const Exchange &exchange) {
  auto *server = static_cast<Server *>(self);
  ++server->answered[exchange.status / 100 < 6 ? exchange.status / 100 : 5];
  server->counts.add(exchange.text);
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  tm parts;
  gmtime_r(&time.tv_sec, &parts);
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
  Text line;
  line.append("{\"time\": \"%s.%03dZ\", \"method\": \"%s\", \"path\": ", stamp,
              int(time.tv_nsec / 1000000), exchange.method);
  appendJsonString(line, exchange.path.c_str());
  line.append(", \"status\": %d, \"received\": %zu, \"sent\": %zu, \"queued_ms\": %.3f, "
              "\"computed_ms\": %.3f, \"ms\": %.3f}\n",
              exchange.status, exchange.bodySize, exchange.streamed + exchange.answer.size(),
              1e3 * exchange.waited, 1e3 * exchange.computed, 1e3 * exchange.seconds);
  fputs(line.c_str(), stderr);
}

} // namespace

attn_status serve(const ServedModel *models, size_t count, const ServeOptions &options,
                  const BindWeights &weights, Error &error) {
  Server server(options);
  for (size_t i = 0; i < count; ++i)
    if (server.addModel(models[i].model, error))
      return error.status;
  if (server.openTexts(models, count, error))
    return error.status;
  return server.run(weights, error);
}

} // namespace attn
