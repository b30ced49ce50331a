// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning files to choices and back: every value is checked when it is read, and the first problem
// is reported with its place in the file.
#include "compiler/transforms/Tuning.h"
#include "compiler/support/Json.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <tuple>

using namespace llvm;

namespace attn {

static constexpr int64_t fileVersion = 1;
static constexpr StringRef knobNames[] = {"rows", "steps",  "group",   "unroll",
                                          "keys", "blocks", "lowering"};

StringRef knobName(Knob knob) { return knobNames[static_cast<size_t>(knob)]; }

std::optional<Knob> parseKnob(StringRef name) {
  const auto *found = find(knobNames, name);
  if (found == std::end(knobNames))
    return std::nullopt;
  return static_cast<Knob>(found - std::begin(knobNames));
}

KnobRange rangeOf(Knob knob, StringRef level) {
  const CpuTarget *target = CpuTarget::find(level);
  switch (knob) {
  case Knob::Rows: // sums of three vectors; three more of weights, and an element of the rows
    return {1, target ? (target->registers - 4) / 3 : 1, 1};
  case Knob::Steps:
    return {16, 1 << 20, 8};
  case Knob::Group:
    return {16, 1 << 20, 1};
  case Knob::Unroll:
    return {1, 8, 1};
  case Knob::Keys:
    return {16, 512, 16};
  case Knob::Blocks:
    return {1, 64, 1};
  case Knob::Lowering:
    return {0, getMaxEnumValForAttentionLowering(), 1};
  }
  return {0, 0, 1};
}

static std::string valueText(Knob knob, int64_t value) {
  if (knob == Knob::Lowering)
    return stringifyAttentionLowering(static_cast<AttentionLowering>(value)).str();
  return std::to_string(value);
}

std::string choiceText(const KernelChoice &choice) {
  std::string text;
  for (auto [knob, value] : choice)
    text += (text.empty() ? "" : ", ") + knobName(knob).str() + " " + valueText(knob, value);
  return text;
}

//===-- reading -----------------------------------------------------------------------------===//

namespace {

/// Walks the file's JSON; the first problem is kept, with its place ("kernels[2].choice.rows").
class Reader {
public:
  std::string problem;

  bool read(const json::Value &value, Tuning &tuning);

private:
  bool fails(const Twine &place, const Twine &expected, const json::Value *found = nullptr);
  bool readKernel(const std::string &place, const json::Value &value, TunedKernel &kernel);
  bool readChoice(const std::string &place, const json::Value &value, TunedKernel &kernel);
  bool readText(const std::string &place, const json::Value &value, std::string &text);
  bool readNumber(const std::string &place, const json::Value &value, KnobRange range,
                  int64_t &number);
};

} // namespace

bool Reader::fails(const Twine &place, const Twine &expected, const json::Value *found) {
  raw_string_ostream stream(problem);
  stream << place << ": expected " << expected << ", but ";
  if (found)
    stream << "got " << *found;
  else
    stream << "there is none";
  return false;
}

bool Reader::readText(const std::string &place, const json::Value &value, std::string &text) {
  auto found = value.getAsString();
  if (!found || found->empty())
    return fails(place, "a text", &value);
  text = found->str();
  return true;
}

bool Reader::readNumber(const std::string &place, const json::Value &value, KnobRange range,
                        int64_t &number) {
  auto found = value.getAsInteger();
  if (found && range.holds(*found))
    return number = *found, true;
  std::string expected = formatv("{0} to {1}", range.least, range.most);
  if (range.multiple > 1)
    expected = formatv("a multiple of {0} from {1}", range.multiple, expected);
  return fails(place, expected, &value);
}

bool Reader::readChoice(const std::string &place, const json::Value &value, TunedKernel &kernel) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fails(place, "an object of knobs and their values", &value);
  for (const auto &[key, own] : *object) {
    std::string at = place + "." + key.str();
    std::optional<Knob> knob = parseKnob(key);
    if (!knob) {
      problem = at + ": expected one of " + join(ArrayRef(knobNames), ", ");
      return false;
    }
    int64_t number;
    if (*knob != Knob::Lowering) {
      if (!readNumber(at, own, rangeOf(*knob, kernel.level), number))
        return false;
    } else {
      auto lowering = symbolizeAttentionLowering(own.getAsString().value_or(""));
      if (!lowering)
        return fails(at, "strip, online or unfused", &own);
      number = static_cast<int64_t>(*lowering);
    }
    kernel.choice[*knob] = number;
  }
  return true;
}

bool Reader::readKernel(const std::string &place, const json::Value &value, TunedKernel &kernel) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fails(place, "an object", &value);
  static constexpr StringRef fields[] = {"cpu",    "level",      "threads", "kernel",
                                         "choice", "default_ns", "ns"};
  for (const auto &[key, own] : *object)
    if (!is_contained(fields, StringRef(key))) {
      problem = place + "." + key.str() + ": expected one of " + join(ArrayRef(fields), ", ");
      return false;
    }
  auto text = [&](StringRef name, std::string &text, bool isNeeded) {
    const json::Value *own = object->get(name);
    return own ? readText(place + "." + name.str(), *own, text)
               : !isNeeded || fails(place + "." + name, "a text");
  };
  auto number = [&](StringRef name, int64_t most, int64_t &number) {
    const json::Value *own = object->get(name);
    return !own || readNumber(place + "." + name.str(), *own, {0, most, 1}, number);
  };
  constexpr int64_t longest = int64_t(1) << 62;
  if (!text("cpu", kernel.cpu, false) || !text("level", kernel.level, true) ||
      !text("kernel", kernel.kernel, true) || !number("threads", 1024, kernel.threads) ||
      !number("default_ns", longest, kernel.defaultTime) || !number("ns", longest, kernel.time))
    return false;
  if (!CpuTarget::find(kernel.level))
    return fails(place + ".level", "a CPU level", object->get("level"));
  const json::Value *choice = object->get("choice");
  return choice ? readChoice(place + ".choice", *choice, kernel)
                : fails(place + ".choice", "an object of knobs and their values");
}

bool Reader::read(const json::Value &value, Tuning &tuning) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fails("the file", "an object with \"version\" and \"kernels\"", &value);
  const json::Value *version = object->get("version"), *kernels = object->get("kernels");
  if (!version || version->getAsInteger() != fileVersion)
    return fails("version", Twine(fileVersion), version);
  if (!kernels || !kernels->getAsArray())
    return fails("kernels", "an array", kernels);
  for (auto [i, own] : enumerate(*kernels->getAsArray())) {
    TunedKernel kernel;
    if (!readKernel(formatv("kernels[{0}]", i), own, kernel))
      return false;
    tuning.set(std::move(kernel));
  }
  return true;
}

Expected<Tuning> Tuning::parse(StringRef text) {
  auto value = parseJson(text);
  if (!value)
    return value.takeError();
  Reader reader;
  Tuning tuning;
  if (!reader.read(*value, tuning))
    return createStringError(reader.problem);
  return tuning;
}

//===-- writing -----------------------------------------------------------------------------===//

/// One line a kernel, so that files are easily compared.
std::string Tuning::print() const {
  std::string text;
  raw_string_ostream stream(text);
  stream << "{\"version\": " << fileVersion << ",\n \"kernels\": [";
  for (const auto &[i, kernel] : enumerate(kernels)) {
    stream << (i ? ",\n  {" : "\n  {");
    for (auto [name, value] : {std::pair("cpu", &kernel.cpu), std::pair("level", &kernel.level),
                               std::pair("kernel", &kernel.kernel)})
      if (!value->empty())
        stream << json::Value(name) << ": " << json::Value(*value) << ", ";
    stream << "\"choice\": {";
    for (auto [n, set] : enumerate(kernel.choice)) {
      stream << (n ? ", " : "") << json::Value(knobName(set.first)) << ": ";
      if (set.first == Knob::Lowering)
        stream << json::Value(valueText(set.first, set.second));
      else
        stream << set.second;
    }
    stream << "}, \"threads\": " << kernel.threads << ", \"default_ns\": " << kernel.defaultTime
           << ", \"ns\": " << kernel.time << "}";
  }
  stream << "]}\n";
  return text;
}

void Tuning::set(TunedKernel kernel) {
  auto key = [](const TunedKernel &kernel) {
    return std::tie(kernel.cpu, kernel.level, kernel.kernel);
  };
  auto place =
      lower_bound(kernels, kernel, [&](const auto &a, const auto &b) { return key(a) < key(b); });
  if (place != kernels.end() && key(*place) == key(kernel))
    *place = std::move(kernel);
  else
    kernels.insert(place, std::move(kernel));
}

TunedChoices Tuning::choicesFor(StringRef cpu) const {
  TunedChoices choices;
  for (bool isNamed : {false, true})
    for (const TunedKernel &kernel : kernels)
      if (isNamed ? kernel.cpu == cpu : kernel.cpu.empty())
        choices[kernel.level][kernel.kernel] = kernel.choice;
  return choices;
}

} // namespace attn
