// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two explanations to their difference, and that to lines.
#include "ExplanationDiff.h"

#include "ExplanationText.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <map>
#include <set>

using namespace llvm;

namespace attn::tool {

/// A number that a kernel may lack.
static double memberNumber(const json::Object &kernel, StringRef name) {
  return kernel.getNumber(name).value_or(0);
}

/// A value in a few words: "4, 3" for a list.
static std::string textOf(const json::Value *value) {
  if (!value)
    return "none";
  if (auto text = value->getAsString())
    return text->str();
  std::string text;
  if (const json::Array *list = value->getAsArray()) {
    for (const json::Value &element : *list)
      text += (text.empty() ? "" : ", ") + textOf(&element);
    return text.empty() ? "none" : text;
  }
  raw_string_ostream(text) << *value;
  return text;
}

/// Adds what differs between two values of the fact `name` to `changes`. Objects and lists of them
/// are compared member by member.
static void compare(const std::string &name, const json::Value *a, const json::Value *b,
                    json::Array &changes) {
  if (a == b || (a && b && *a == *b)) // or neither is there
    return;
  auto isNested = [](const json::Value *value) {
    const json::Array *list = value ? value->getAsArray() : nullptr;
    return value &&
           (value->getAsObject() || (list && !list->empty() && list->front().getAsObject()));
  };
  if (!isNested(a) || !isNested(b)) {
    changes.push_back(json::Object{{"fact", name}, {"a", textOf(a)}, {"b", textOf(b)}});
    return;
  }
  using Pair = std::pair<const json::Value *, const json::Value *>;
  std::map<std::string, Pair> members;
  auto add = [&](const json::Value &value, const json::Value *Pair::*side) {
    if (const json::Object *object = value.getAsObject())
      for (auto &[member, own] : *object)
        members[StringRef(member).str()].*side = &own;
    else
      for (auto [i, own] : enumerate(*value.getAsArray()))
        members[i == 0 ? "" : std::to_string(i + 1)].*side = &own;
  };
  add(*a, &Pair::first), add(*b, &Pair::second);
  for (auto &[member, values] : members)
    compare(member.empty() ? name : (Twine(name) + "." + member).str(), values.first, values.second,
            changes);
}

/// The codes of a kernel's reasons.
static json::Value reasonsOf(const json::Object &kernel) {
  json::Array codes;
  if (const json::Array *reasons = kernel.getArray("reasons"))
    for (const json::Value &reason : *reasons)
      codes.push_back(reason.getAsObject()->getString("code").value_or("").str());
  return codes;
}

/// What an attention's terms say that its other facts do not: how scores become weights.
static std::string weightOf(const json::Object &facts) {
  for (const json::Object *term : objects(facts.getArray("terms")))
    if (memberText(*term, "term") == "weight")
      return memberText(*term, "text").str();
  return "";
}

/// What differs between two kernels. Estimates and rules of division differ between any two
/// targets; what was chosen by them is a fact of its own.
static json::Array changesOf(const json::Object &a, const json::Object &b) {
  json::Array changes;
  auto factsOf = [](const json::Object &kernel) {
    const json::Object *known = kernel.getObject("facts");
    json::Object facts = known ? *known : json::Object();
    if (std::string weight = weightOf(facts); !weight.empty())
      facts["weight"] = std::move(weight);
    facts.erase("terms"); // and where they stand
    facts.erase("estimates"), facts.erase("division");
    if (json::Object *verdicts = facts.getObject("verdicts"))
      verdicts->erase("query_starts"), verdicts->erase("key_starts");
    return facts;
  };
  json::Object left = factsOf(a), right = factsOf(b);
  std::set<std::string> names;
  for (const json::Object *facts : {&left, &right})
    for (auto &[name, value] : *facts)
      names.insert(StringRef(name).str());
  for (StringRef member : {"kernel", "flop_dense", "bytes", "flop_counts"})
    compare(member.str(), a.get(member), b.get(member), changes);
  for (const std::string &name : names)
    compare(name, left.get(name), right.get(name), changes);
  json::Value own = reasonsOf(a), other = reasonsOf(b);
  compare("reasons", &own, &other, changes);
  return changes;
}

/// What differs between the weights and the workspaces.
static json::Array changesOfMemory(const json::Object &a, const json::Object &b) {
  auto bytesOf = [](const json::Object &target) {
    std::map<std::string, int64_t> bytes;
    for (const json::Object *slot : objects(target.getArray("weights")))
      bytes["bytes of weights"] +=
          slot->getInteger("bytes").value_or(0) * slot->getInteger("layers").value_or(1);
    for (const json::Object *function : objects(target.getArray("memory")))
      bytes["workspace of " + function->getString("function").value_or("").str()] =
          function->getInteger("bytes").value_or(0);
    return bytes;
  };
  std::map<std::string, int64_t> left = bytesOf(a), right = bytesOf(b);
  json::Array changes;
  for (auto &[name, bytes] : left)
    if (auto other = right.find(name); other != right.end() && other->second != bytes)
      changes.push_back(json::Object{{"fact", name},
                                     {"a", quantity(double(bytes), "B")},
                                     {"b", quantity(double(other->second), "B")}});
  return changes;
}

/// The seconds of all kernels of a measured run.
static double secondsOf(const json::Object &target) {
  double sum = 0;
  for (const json::Object *kernel : objects(target.getArray("kernels")))
    sum += memberNumber(*kernel, "seconds");
  return sum;
}

using Kernels = std::map<std::string, const json::Object *>;

/// The kernels of a target by what they are for: the name without a number behind it, which depends
/// on the other kernels, and the kind; of several the first, second, ...
static Kernels kernelsOf(const json::Object &target) {
  Kernels kernels;
  for (const json::Object *kernel : objects(target.getArray("kernels"))) {
    StringRef name = memberText(*kernel, "function");
    int64_t unused;
    if (auto [base, suffix] = name.rsplit('.'); !suffix.getAsInteger(10, unused))
      name = base;
    const json::Object *facts = kernel->getObject("facts");
    std::string key = (name + " " + (facts ? memberText(*facts, "kind") : "")).str();
    for (int64_t i = 1; !kernels.emplace(key + " " + std::to_string(i), kernel).second;)
      ++i;
  }
  return kernels;
}

std::vector<ExplainedTarget> targetsOf(const json::Object &explanation) {
  std::vector<ExplainedTarget> targets;
  const json::Object *model = explanation.getObject("model");
  for (const json::Object *target : objects(explanation.getArray("targets")))
    targets.push_back(
        {fmt::format("{} for {}, {}", memberText(explanation, "spec"), memberText(*target, "name"),
                     model ? memberText(*model, "precision") : StringRef()),
         target});
  return targets;
}

json::Object difference(const ExplainedTarget &a, const ExplainedTarget &b) {
  Kernels left = kernelsOf(*a.target), right = kernelsOf(*b.target);
  bool areTimed = a.target->getObject("run") && b.target->getObject("run");
  StringRef amount = areTimed ? "seconds" : "flop";
  auto describe = [&](const json::Object &kernel) {
    return json::Object{{"function", kernel.getString("function").value_or("").str()},
                        {"at", kernel.getString("at").value_or("").str()},
                        {"text", kernel.getString("text").value_or("").str()}};
  };
  struct Differing {
    double weight; ///< how much it is about
    std::string name;
    json::Object described;
  };
  std::vector<Differing> differing;
  json::Array onlyA, onlyB;
  int64_t same = 0;
  for (auto &[name, kernel] : left) {
    auto other = right.find(name);
    if (other == right.end()) {
      onlyA.push_back(describe(*kernel));
      continue;
    }
    json::Array changes = changesOf(*kernel, *other->second);
    double before = memberNumber(*kernel, amount), after = memberNumber(*other->second, amount);
    if (changes.empty() && (!areTimed || before == after)) {
      ++same;
      continue;
    }
    json::Object own = describe(*kernel);
    own["function_b"] = memberText(*other->second, "function").str();
    own["changes"] = std::move(changes);
    if (areTimed)
      own["seconds"] = json::Object{{"a", before}, {"b", after}};
    double weight = areTimed ? std::abs(after - before) : std::max(before, after);
    differing.push_back({weight, name, std::move(own)});
  }
  for (auto &[name, kernel] : right)
    if (!left.count(name))
      onlyB.push_back(describe(*kernel));
  sort(differing, [](const Differing &x, const Differing &y) {
    return x.weight != y.weight ? x.weight > y.weight : x.name < y.name;
  });
  json::Array kernels;
  for (Differing &kernel : differing)
    kernels.push_back(std::move(kernel.described));
  json::Object found{{"schema", "attn.diff"},
                     {"schema_version", 1},
                     {"a", a.label},
                     {"b", b.label},
                     {"changes", changesOfMemory(*a.target, *b.target)},
                     {"kernels", std::move(kernels)},
                     {"only_a", std::move(onlyA)},
                     {"only_b", std::move(onlyB)},
                     {"same", same}};
  if (areTimed)
    found["seconds"] = json::Object{{"a", secondsOf(*a.target)}, {"b", secondsOf(*b.target)}};
  return found;
}

bool areSame(const json::Object &difference) {
  return all_of(ArrayRef<StringRef>{"changes", "only_a", "only_b"},
                [&](StringRef name) { return difference.getArray(name)->empty(); }) &&
         all_of(objects(difference.getArray("kernels")),
                [](const json::Object *kernel) { return kernel->getArray("changes")->empty(); });
}

/// ": 12.3 ms -> 6.2 ms (0.50)", where times are known.
static std::string timesOf(const json::Object &object) {
  const json::Object *seconds = object.getObject("seconds");
  if (!seconds)
    return "";
  double a = memberNumber(*seconds, "a"), b = memberNumber(*seconds, "b");
  std::string text = ": " + quantity(a, "s") + " -> " + quantity(b, "s");
  return a > 0 ? text + fmt::format(" ({:.2f})", b / a) : text;
}

static void printChanges(const json::Array &changes, raw_ostream &stream) {
  for (const json::Object *change : objects(&changes))
    stream << "  " << memberText(*change, "fact") << ": " << memberText(*change, "a") << " -> "
           << memberText(*change, "b") << '\n';
}

void printDifference(const json::Object &difference, raw_ostream &stream) {
  stream << "a: " << memberText(difference, "a") << "\nb: " << memberText(difference, "b") << '\n';
  if (std::string times = timesOf(difference);
      !times.empty() || !difference.getArray("changes")->empty())
    stream << "all kernels" << times << '\n';
  printChanges(*difference.getArray("changes"), stream);
  const json::Array *before = nullptr; // the changes of the kernels that were named last
  for (const json::Object *kernel : objects(difference.getArray("kernels"))) {
    const json::Array *own = kernel->getArray("changes");
    if (before && *before != *own)
      printChanges(*before, stream);
    before = own;
    stream << memberText(*kernel, "function");
    if (memberText(*kernel, "function_b") != memberText(*kernel, "function"))
      stream << ", in b " << memberText(*kernel, "function_b");
    stream << " (" << memberText(*kernel, "at") << ')' << timesOf(*kernel) << '\n';
  }
  if (before)
    printChanges(*before, stream);
  for (auto [list, side] : {std::pair("only_a", "a"), std::pair("only_b", "b")})
    for (const json::Object *kernel : objects(difference.getArray(list)))
      stream << "only in " << side << ": " << memberText(*kernel, "function") << " ("
             << memberText(*kernel, "at") << ")\n  " << memberText(*kernel, "text") << '\n';
  int64_t same = difference.getInteger("same").value_or(0);
  if (same)
    stream << same << (same == 1 ? " kernel is the same\n" : " kernels are the same\n");
  stream.flush();
}

} // namespace attn::tool
