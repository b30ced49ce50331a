// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profiled run as a Chrome trace (the Trace Event Format), as Perfetto and speedscope read it: on
// each thread a slice of the entry, in it slices of layers, in these kernels and the waits behind
// them. Readers add times and lengths as doubles, which rounds: a slice that touches the next one
// would then be its parent. So kernels end two nanoseconds, layers one nanosecond early.
#include "base/Json.h"
#include "io/File.h"
#include "main/Report.h"

using namespace attn;

/// "Layer" of "Layer.a": what a kernel's function is called after. "Layer.last" of "Layer.last.a":
/// a last layer that has code of its own.
static size_t blockLength(const char *function) {
  constexpr const char *last = ".last.";
  size_t length = strcspn(function, ".");
  bool isLast = strncmp(function + length, last, strlen(last)) == 0;
  return isLast ? length + strlen(last) - 1 : length;
}

namespace {

/// Writes the events of all threads.
class TraceWriter {
public:
  TraceWriter(const TraceOf &of, const Vector<RunProfile::Kernel> &infos, Text &text)
      : of(of), infos(infos), text(text) {}

  void begin(int32_t threads);
  /// The slices of a thread, whose events come in the order of time.
  bool thread(int32_t number, const attn_kernel_event *events, size_t count);
  void end() { text.append("\n]}\n"); }

private:
  /// Events [first, last) of a layer, and which of its block's it is; -1 where there is one only.
  struct Layer {
    size_t first, last;
    int32_t number;
  };
  /// Groups events into layers: one ends where another block begins, or a kernel comes again.
  bool findLayers(const attn_kernel_event *events, size_t count, Vector<Layer> &layers) const;
  bool isEntry(const char *function) const;
  void comma() { text.append(text.c_str()[text.size() - 1] == '[' ? "\n" : ",\n"); }
  void meta(const char *what, int32_t thread, const char *name);
  /// The beginning of a slice, up to its arguments; it ends `early` nanoseconds before `end`.
  void slice(const char *name, size_t length, const char *category, int64_t begin, int64_t end,
             int64_t early);
  void kernel(const attn_kernel_event &event, const Layer &layer);
  void workspace(int64_t at);

  const TraceOf &of;
  const Vector<RunProfile::Kernel> &infos;
  Text &text;
  int32_t tid = 0; ///< the thread whose slices are written
};

} // namespace

void TraceWriter::meta(const char *what, int32_t thread, const char *name) {
  comma();
  text.append("{\"ph\": \"M\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d, \"args\": {\"name\": ",
              what, int(thread));
  appendJsonString(text, name);
  text.append("}}");
}

void TraceWriter::begin(int32_t threads) {
  text.append("{\"traceEvents\": [");
  Text process, name;
  process.append("%s.%s on %s", of.model, of.entry, of.target);
  meta("process_name", 0, process.c_str());
  for (int32_t thread = 0; thread < threads; ++thread) {
    name.clear();
    name.append(of.isGpu ? "stream" : "thread %d", int(thread));
    meta("thread_name", thread, name.c_str());
  }
}

bool TraceWriter::isEntry(const char *function) const {
  return strncmp(function, of.entry, blockLength(function)) == 0 &&
         strlen(of.entry) == blockLength(function);
}

bool TraceWriter::findLayers(const attn_kernel_event *events, size_t count,
                             Vector<Layer> &layers) const {
  for (size_t first = 0, last; first < count; first = last) {
    const char *function = infos[size_t(events[first].kernel)].info.function;
    size_t length = blockLength(function);
    bool isRepeated = false;
    for (last = first + 1; last < count && !isRepeated; last += !isRepeated) {
      const char *next = infos[size_t(events[last].kernel)].info.function;
      if (blockLength(next) != length || strncmp(next, function, length) != 0)
        break;
      for (size_t before = first; before < last; ++before)
        isRepeated |= events[before].kernel == events[last].kernel;
    }
    int32_t number = 0;
    for (Layer &known : layers) {
      if (isEntry(function)) // its kernels stand before and behind those of layers
        break;
      const char *other = infos[size_t(events[known.first].kernel)].info.function;
      if (blockLength(other) != length || strncmp(other, function, length) != 0)
        continue;
      known.number = known.number < 0 ? 0 : known.number; // no longer the only one
      ++number;
    }
    if (!layers.push({first, last, number > 0 ? number : -1}))
      return false;
  }
  return true;
}

void TraceWriter::slice(const char *name, size_t length, const char *category, int64_t begin,
                        int64_t end, int64_t early) {
  int64_t nanoseconds = end - begin > early ? end - begin - early : 0;
  Text copied;
  copied.append("%.*s", int(length), name);
  comma();
  text.append("{\"ph\": \"X\", \"name\": ");
  appendJsonString(text, copied.c_str());
  text.append(
      ", \"cat\": \"%s\", \"pid\": 0, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {",
      category, int(tid), 1e-3 * double(begin), 1e-3 * double(nanoseconds));
}

void TraceWriter::kernel(const attn_kernel_event &event, const Layer &layer) {
  constexpr int64_t worthSaying = 1000, early = 2;
  const RunProfile::Kernel &own = infos[size_t(event.kernel)];
  const attn_kernel_info &info = own.info;
  bool waits = event.end - event.done > worthSaying;
  slice(info.function, strlen(info.function), "kernel", event.begin, waits ? event.done : event.end,
        early);
  text.append("\"kernel\": ");
  appendJsonString(text, info.title);
  text.append(", \"at\": ");
  appendJsonString(text, info.location);
  if (layer.number >= 0)
    text.append(", \"layer\": %d", int(layer.number));
  text.append(", \"entry\": ");
  appendJsonString(text, of.entry);
  text.append(", \"flop\": %.0f, \"flop_counts\": \"%s\", \"bytes\": %.0f}}", info.flop,
              countsText(own.counts), info.bytes);
  if (!waits)
    return;
  slice("waiting", strlen("waiting"), "waiting", event.done, event.end, early);
  text.append("\"for\": \"other threads\"}}");
}

void TraceWriter::workspace(int64_t at) {
  comma();
  text.append("{\"ph\": \"C\", \"name\": \"workspace\", \"pid\": 0, \"ts\": %.3f, \"args\": "
              "{\"bytes\": %lld}}",
              1e-3 * double(at), static_cast<long long>(of.workspaceBytes));
}

bool TraceWriter::thread(int32_t number, const attn_kernel_event *events, size_t count) {
  tid = number;
  Vector<Layer> layers;
  if (!findLayers(events, count, layers))
    return false;
  if (count == 0)
    return true;
  int64_t first = events[0].begin, last = events[count - 1].end;
  slice(of.entry, strlen(of.entry), "entry", first, last, 0);
  text.append("\"target\": ");
  appendJsonString(text, of.target);
  text.append(", \"sizes\": {");
  for (size_t i = 0; i < of.sizes.size(); ++i) {
    text.append(i ? ", " : "");
    appendJsonString(text, of.sizes[i].name);
    text.append(": %lld", static_cast<long long>(of.sizes[i].size));
  }
  text.append("}}}");
  for (const Layer &layer : layers) {
    const char *function = infos[size_t(events[layer.first].kernel)].info.function;
    if (!isEntry(function)) {
      Text name;
      name.append("%.*s", int(blockLength(function)), function);
      if (layer.number >= 0)
        name.append(" %d", int(layer.number));
      slice(name.c_str(), name.size(), "layer", events[layer.first].begin,
            events[layer.last - 1].end, 1);
      text.append("\"layer\": %d}}", int(layer.number < 0 ? 0 : layer.number));
    }
    for (size_t i = layer.first; i < layer.last; ++i)
      kernel(events[i], layer);
  }
  if (number == 0 && of.workspaceBytes > 0)
    workspace(first), workspace(last);
  return true;
}

attn_status RunProfile::writeTrace(const char *path, const TraceOf &of, Error &error) const {
  Text text;
  TraceWriter writer(of, infos, text);
  int32_t threads = events.empty() ? 0 : events[events.size() - 1].thread + 1;
  writer.begin(threads);
  Vector<attn_kernel_event> own;
  for (int32_t thread = 0; thread < threads; ++thread) {
    own.clear();
    for (const auto &[of, event] : events)
      if (of == thread && !own.push(event))
        return error.outOfMemory(path);
    if (!writer.thread(thread, own.data(), own.size()))
      return error.outOfMemory(path);
  }
  writer.end();
  if (text.failed())
    return error.outOfMemory(path);
  OutputFile file;
  if (file.open(path, error) || file.write(text.c_str(), text.size(), error))
    return error.status;
  return file.commit(error);
}
