// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of an explanation to lines, each in columns.
#include "ExplanationTables.h"

#include "ExplanationText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

static int64_t number(const json::Object &object, StringRef name) {
  return object.getInteger(name).value_or(0);
}

/// The largest first, then as they were.
static void sortByBytes(std::vector<const json::Object *> &list) {
  std::vector<std::pair<int64_t, size_t>> order;
  for (auto [i, object] : enumerate(list))
    order.push_back({-number(*object, "bytes"), i});
  sort(order);
  std::vector<const json::Object *> sorted;
  for (auto [bytes, i] : order)
    sorted.push_back(list[i]);
  list = std::move(sorted);
}

/// " at B = 4, T = 1024": the sizes that are assumed; empty where all are known.
static std::string assumedSizes(const json::Object &explanation) {
  std::string text;
  if (const json::Object *sizes = explanation.getObject("sizes"))
    for (auto &size : *sizes)
      text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ", size.first.str(),
                          size.second.getAsInteger().value_or(0));
  return text;
}

/// During which of `all` steps something is needed, as a bar of one character a step, or of fewer.
static std::string stepsBar(int64_t from, int64_t until, int64_t all) {
  constexpr int64_t most = 24;
  int64_t width = std::min(all, most);
  std::string bar;
  for (int64_t i = 0; i < width; ++i) {
    bool isNeeded = i * all < until * width && (i + 1) * all > from * width;
    bar += isNeeded ? "█" : "·";
  }
  return bar;
}

/// What the op at a place of a function became: the kernel there that does most.
static const json::Object *kernelAt(const json::Object &target, StringRef function, StringRef at) {
  const json::Object *found = nullptr;
  for (const json::Object *kernel : objects(target.getArray("kernels")))
    if (memberText(*kernel, "at") == at && kernel->get("kernel") &&
        memberText(*kernel, "function").starts_with((function + ".").str()) &&
        (!found || kernel->getNumber("flop") > found->getNumber("flop")))
      found = kernel;
  return found;
}

static void printFrame(const json::Object &target, const json::Object &frame, raw_ostream &stream) {
  constexpr size_t mostBuffers = 8;
  std::vector<const json::Object *> buffers = objects(frame.getArray("buffers"));
  erase_if(buffers, [](const json::Object *buffer) { return number(*buffer, "bytes") == 0; });
  int64_t steps = 0;
  for (const json::Object *buffer : buffers)
    steps = std::max(steps, number(*buffer, "until"));
  sortByBytes(buffers);
  StringRef function = memberText(frame, "function");
  stream << fmt::format("  {:>8}  {}\n", quantity(double(number(frame, "bytes")), "B"),
                        function.str());
  int64_t others = 0;
  for (auto [i, buffer] : enumerate(buffers)) {
    if (i >= mostBuffers) {
      others += number(*buffer, "bytes");
      continue;
    }
    int64_t from = number(*buffer, "from"), until = number(*buffer, "until");
    StringRef at = memberText(*buffer, "at");
    const json::Object *kernel = kernelAt(target, function, at);
    std::string use = !kernel            ? "for blocks that are called there"
                      : until - from > 1 ? "what comes of " + memberText(*kernel, "kernel").str()
                                         : "while in " + memberText(*kernel, "kernel").str();
    stream << fmt::format("    {:>8}  {}  {}{}({})\n",
                          quantity(double(number(*buffer, "bytes")), "B"),
                          stepsBar(from, until, steps), use, use.empty() ? "" : " ", at.str());
  }
  if (others)
    stream << fmt::format("    {:>8}  in {} more\n", quantity(double(others), "B"),
                          buffers.size() - mostBuffers);
}

void printMemory(const json::Object &explanation, raw_ostream &stream) {
  for (const json::Object *target : objects(explanation.getArray("targets"))) {
    stream << memberText(*target, "name") << ", workspace of one thread"
           << assumedSizes(explanation)
           << "; a bar has the steps of a function, and when a buffer is needed\n";
    std::vector<const json::Object *> frames = objects(target->getArray("memory"));
    sortByBytes(frames);
    for (const json::Object *frame : frames)
      if (number(*frame, "bytes") > 0)
        printFrame(*target, *frame, stream);
  }
  stream.flush();
}

/// "vit.attn:17:12, 17:20": the file of each place where it is another.
static std::string joinPlaces(ArrayRef<StringRef> places) {
  std::string text;
  StringRef last;
  for (StringRef place : places) {
    StringRef file = place.rsplit(':').first.rsplit(':').first;
    text += (text.empty() ? "" : ", ") +
            (file == last ? place.drop_front(file.size() + 1) : place).str();
    last = file;
  }
  return text;
}

void printParameters(const json::Object &explanation, raw_ostream &stream) {
  for (const json::Object *target : objects(explanation.getArray("targets"))) {
    std::vector<const json::Object *> slots = objects(target->getArray("weights"));
    sort(slots, [](const json::Object *a, const json::Object *b) {
      return number(*a, "offset") < number(*b, "offset");
    });
    struct Line {
      std::string tensor, places, stored;
    };
    std::vector<Line> lines;
    int64_t all = 0;
    for (const json::Object *slot : slots) {
      int64_t layers = number(*slot, "layers"), panel = number(*slot, "panel");
      all += layers * number(*slot, "bytes");
      std::string stored =
          fmt::format("{} {}, {}{} from {} on", memberText(*slot, "precision").str(),
                      panel ? fmt::format("panels of {}", panel) : "rows",
                      layers > 1 ? fmt::format("{} x ", layers) : "",
                      quantity(double(number(*slot, "bytes")), "B"), number(*slot, "offset"));
      std::vector<const json::Object *> parameters = objects(slot->getArray("parameters"));
      SetVector<StringRef> tensors;
      for (const json::Object *parameter : parameters)
        tensors.insert(memberText(*parameter, "tensor"));
      for (StringRef tensor : tensors) {
        SetVector<StringRef> places;
        for (const json::Object *parameter : parameters)
          if (memberText(*parameter, "tensor") == tensor)
            places.insert(memberText(*parameter, "at"));
        lines.push_back({tensor.str(), joinPlaces(places.getArrayRef()), stored});
      }
    }
    size_t widest = 0, places = 0;
    for (const Line &line : lines)
      widest = std::max(widest, line.tensor.size()), places = std::max(places, line.places.size());
    stream << fmt::format(
        "{}, {} of packed weights; tensors, where the spec binds them, and how they "
        "are stored\n",
        memberText(*target, "name").str(), quantity(double(all), "B"));
    for (const Line &line : lines)
      stream << fmt::format("  {:<{}}  {:<{}}  {}\n", line.tensor, widest, line.places, places,
                            line.stored);
  }
  stream.flush();
}

static void printBoxes(const json::Array *boxes, double whole, unsigned depth,
                       raw_ostream &stream) {
  for (const json::Object *box : objects(boxes)) {
    std::optional<double> flop = box->getNumber("flop");
    std::string share = flop && whole > 0 ? fmt::format("{:5.1f} %", 100 * *flop / whole) : "";
    std::optional<int64_t> runs = box->getInteger("runs");
    stream << fmt::format("  {:>7}  {:>11}  ", share, runs ? std::to_string(*runs) : "?");
    stream.indent(2 * depth);
    StringRef loop = memberText(*box, "loop");
    stream << (loop.empty() ? memberText(*box, "op") : loop);
    if (StringRef text = memberText(*box, "text"); !text.empty())
      stream << ' ' << text;
    if (auto step = box->getInteger("step"); step && *step != 1)
      stream << ", step " << *step;
    stream << '\n';
    printBoxes(box->getArray("body"), whole, depth + 1, stream);
  }
}

void printLoops(const json::Object &kernel, raw_ostream &stream) {
  const json::Array *loops = kernel.getArray("loops");
  if (!loops || loops->empty())
    return;
  double whole = 0;
  for (const json::Object *box : objects(loops))
    whole += box->getNumber("flop").value_or(0);
  stream << "loops and tiles, with their share of the operations and how often they run\n";
  printBoxes(loops, whole, 0, stream);
}

} // namespace attn::tool
