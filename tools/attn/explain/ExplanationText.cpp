// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An explanation to lines: a tree of entries, blocks and kernels, with what each takes of the
// whole.
#include "ExplanationText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

std::vector<const json::Object *> objects(const json::Array *list) {
  std::vector<const json::Object *> found;
  if (list)
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject())
        found.push_back(object);
  return found;
}

StringRef memberText(const json::Object &object, StringRef name) {
  return object.getString(name).value_or("");
}

std::string quantity(double number, StringRef unit) {
  constexpr std::pair<double, StringLiteral> prefixes[] = {
      {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "u"}};
  for (auto [factor, prefix] : prefixes)
    if (number >= factor)
      return fmt::format("{:.{}f} {}{}", number / factor,
                         number >= 100 * factor  ? 0
                         : number >= 10 * factor ? 1
                                                 : 2,
                         prefix.str(), unit.str());
  return "0 " + unit.str();
}

/// A share as a bar of up to `width` characters, of eighths.
static std::string bar(double share, int64_t width) {
  constexpr StringLiteral parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  int64_t eighths = std::lround(share * double(8 * width));
  std::string drawn;
  for (int64_t i = 0; i < eighths / 8; ++i)
    drawn += "█";
  drawn += parts[eighths % 8];
  int64_t used = eighths / 8 + (eighths % 8 ? 1 : 0);
  return drawn + std::string(size_t(std::max<int64_t>(width - used, 0)), ' ');
}

namespace {

/// A call of a kernel, or of a block with what it calls.
struct Step {
  std::string name;
  std::optional<int64_t> calls; ///< by what is around it; none where a run decides
  const json::Object *kernel = nullptr;
  double amount = 0; ///< of all calls together: seconds, or operations
  size_t number = 0; ///< among its siblings, in the order in which they run
  std::vector<Step> steps = {};
};

/// Prints the kernels of a target.
class Printer {
public:
  Printer(const json::Object &target, bool withReasons, raw_ostream &stream)
      : target(target), withReasons(withReasons), stream(stream) {
    for (const json::Object *kernel : objects(target.getArray("kernels"))) {
      kernels[memberText(*kernel, "function")].push_back(kernel);
      if (auto with = kernel->getString("counted_with"))
        together[*with].push_back(kernel);
    }
    isTimed = target.getObject("run") != nullptr;
  }

  void print();

private:
  static constexpr int64_t barWidth = 12;
  static constexpr unsigned nameColumn = 36, textColumn = 10; ///< of names of depth 0, and of texts

  /// Counts the calls of kernels in `calls`, of what runs `factor` times.
  void count(const json::Array *steps, double factor);
  Step read(const json::Object &step, double factor) const;
  std::vector<Step> read(const json::Array *steps, double factor) const;
  void print(const Step &step, double whole, size_t depth);
  void printKernel(const json::Object &kernel, size_t depth);
  void printDetail(const json::Object &kernel);
  raw_ostream &margin(size_t depth) { return stream.indent(unsigned(nameColumn + 2 * depth)); }

  const json::Object &target;
  bool withReasons, isTimed;
  raw_ostream &stream;
  StringMap<std::vector<const json::Object *>> kernels;  ///< by function
  StringMap<std::vector<const json::Object *>> together; ///< what is counted with a kernel
  StringMap<double> calls; ///< of kernels in the entry that is printed
  StringSet<> isShown;
};

} // namespace

/// A kernel with its place in the spec.
static void printHead(const json::Object &object, raw_ostream &stream) {
  stream << memberText(object, "function");
  if (auto at = object.getString("at"))
    stream << " (" << *at << ')';
  stream << '\n';
}

static void printReason(const json::Object &reason, raw_ostream &stream, unsigned margin) {
  stream.indent(margin) << "note[" << memberText(reason, "code")
                        << "]: " << memberText(reason, "message") << '\n';
  if (const json::Array *helps = reason.getArray("helps"))
    for (const json::Value &help : *helps)
      stream.indent(margin + 2) << "= help: " << help.getAsString().value_or("") << '\n';
}

void Printer::count(const json::Array *steps, double factor) {
  for (const json::Object *step : objects(steps)) {
    double times = factor * double(step->getInteger("calls").value_or(1));
    calls[memberText(*step, "function")] += times;
    count(step->getArray("steps"), times);
  }
}

Step Printer::read(const json::Object &step, double factor) const {
  Step read{memberText(step, "function").str(), step.getInteger("calls")};
  double times = factor * double(read.calls.value_or(1));
  if (auto own = kernels.find(read.name); own != kernels.end()) {
    read.kernel = own->second.front();
    if (!isTimed)
      read.amount = times * read.kernel->getNumber("flop").value_or(0);
    else if (std::optional<double> seconds = read.kernel->getNumber("seconds"))
      read.amount = *seconds * times / calls.lookup(read.name); // those of all calls
    return read;
  }
  read.steps = this->read(step.getArray("steps"), times);
  for (const Step &own : read.steps)
    read.amount += own.amount;
  return read;
}

std::vector<Step> Printer::read(const json::Array *steps, double factor) const {
  std::vector<Step> list;
  for (const json::Object *step : objects(steps)) {
    list.push_back(read(*step, factor));
    list.back().number = list.size();
  }
  sort(list, [](const Step &a, const Step &b) {
    return a.amount != b.amount ? a.amount > b.amount : a.number < b.number;
  });
  return list;
}

void Printer::printDetail(const json::Object &kernel) {
  stream.indent(textColumn) << memberText(kernel, "text") << '\n';
  if (withReasons)
    for (const json::Object *reason : objects(kernel.getArray("reasons")))
      printReason(*reason, stream, textColumn);
}

void Printer::printKernel(const json::Object &kernel, size_t depth) {
  printHead(kernel, stream);
  printDetail(kernel);
  for (const json::Object *other : together.lookup(memberText(kernel, "function"))) {
    printHead(*other, margin(depth));
    printDetail(*other);
  }
}

void Printer::print(const Step &step, double whole, size_t depth) {
  double share = whole > 0 ? step.amount / whole : 0;
  stream << fmt::format("  {:6.1f} % {} {:>11}  ", 100 * share, bar(share, barWidth),
                        quantity(step.amount, isTimed ? "s" : "FLOP"));
  stream.indent(unsigned(2 * depth));
  if (step.calls != 1)
    stream << (step.calls ? std::to_string(*step.calls) : "many") << " x ";
  if (step.kernel && isShown.insert(step.name).second)
    return printKernel(*step.kernel, depth);
  stream << step.name << '\n';
  for (const Step &own : step.steps)
    print(own, whole, depth + 1);
}

void Printer::print() {
  stream << memberText(target, "name") << '\n';
  const json::Object *run = target.getObject("run");
  for (const json::Object *entry : objects(target.getArray("entries"))) {
    if (run && memberText(*run, "entry") != memberText(*entry, "name"))
      continue;
    calls.clear();
    count(entry->getArray("steps"), 1);
    Step whole{memberText(*entry, "name").str(), 1};
    whole.steps = read(entry->getArray("steps"), 1);
    for (const Step &step : whole.steps)
      whole.amount += step.amount;
    print(whole, whole.amount, 0);
  }
  if (run)
    return;
  for (const json::Object *kernel : objects(target.getArray("kernels")))
    if (!isShown.contains(memberText(*kernel, "function")) && !kernel->get("counted_with")) {
      margin(0);
      printHead(*kernel, stream);
      printDetail(*kernel);
    }
}

void printExplanation(const json::Object &explanation, bool withReasons, raw_ostream &stream) {
  std::vector<const json::Object *> notes = objects(explanation.getArray("notes"));
  if (!notes.empty())
    stream << "all targets\n";
  for (const json::Object *note : notes) {
    printHead(*note, stream << "  ");
    stream << "    " << memberText(*note, "text") << '\n';
  }
  for (const json::Object *target : objects(explanation.getArray("targets")))
    Printer(*target, withReasons, stream).print();
  std::vector<const json::Object *> others = objects(explanation.getArray("reasons"));
  if (withReasons && !others.empty()) {
    stream << "of no kernel by itself\n";
    for (const json::Object *reason : others) {
      printHead(*reason, stream << "  ");
      printReason(*reason, stream, 4);
    }
  }
  stream.flush();
}

void printKernel(const json::Object &kernel, raw_ostream &stream) {
  printHead(kernel, stream);
  stream << "  " << memberText(kernel, "text") << '\n';
  for (const json::Object *reason : objects(kernel.getArray("reasons")))
    printReason(*reason, stream, 2);
}

void printReasons(const Remarks &remarks, raw_ostream &stream) {
  for (const Remarks::Entry &reason : remarks.reasons()) {
    json::Object object{{"severity", "note"},
                        {"code", reason.code},
                        {"message", json::fixUTF8(reason.text)},
                        {"function", json::fixUTF8(reason.function)}};
    if (!reason.target.empty())
      object["target"] = reason.target;
    if (!reason.mend.empty())
      object["helps"] = json::Array{json::fixUTF8(reason.mend)};
    if (!reason.at.empty()) {
      auto [rest, column] = StringRef(reason.at.front()).rsplit(':');
      auto [file, line] = rest.rsplit(':');
      object["file"] = json::fixUTF8(file);
      json::Object place{{"line", std::stoll(line.str())}, {"column", std::stoll(column.str())}};
      object["range"] = json::Object{{"start", json::Object(place)}, {"end", json::Object(place)}};
    }
    stream << json::Value(std::move(object)) << '\n';
  }
}

} // namespace attn::tool
