// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests: what stands behind `is`.
#include "text/jinja/Interpreter.h"

using namespace attn;
using namespace attn::jinja;

namespace {

/// A test without an argument.
struct PlainTest {
  const char *name;
  bool (*holds)(const Value &value);
};

/// A test that compares with an argument.
struct Comparison {
  const char *names[3];
  Operation operation;
};

} // namespace

static bool isCallable(const Value &value) {
  return value.is(Kind::Macro) || value.is(Kind::Method) || value.is(Kind::Function);
}

/// What can be gone through; an undefined value can, and has nothing.
static bool isIterable(const Value &value) {
  return value.is(Kind::String) || value.is(Kind::List) || value.is(Kind::Dict) ||
         value.is(Kind::Undefined) || value.is(Kind::Loop);
}

static bool isSequence(const Value &value) { return isIterable(value) && !value.is(Kind::Loop); }

static const PlainTest plainTests[] = {
    {"defined", [](const Value &value) { return !value.is(Kind::Undefined); }},
    {"undefined", [](const Value &value) { return value.is(Kind::Undefined); }},
    {"none", [](const Value &value) { return value.is(Kind::None); }},
    {"string", [](const Value &value) { return value.is(Kind::String); }},
    {"mapping", [](const Value &value) { return value.is(Kind::Dict); }},
    {"iterable", isIterable},
    {"sequence", isSequence},
    {"number", [](const Value &value) { return value.isNumber(); }},
    {"integer", [](const Value &value) { return value.is(Kind::Int); }},
    {"float", [](const Value &value) { return value.is(Kind::Float); }},
    {"boolean", [](const Value &value) { return value.is(Kind::Bool); }},
    {"true", [](const Value &value) { return value.is(Kind::Bool) && value.truth; }},
    {"false", [](const Value &value) { return value.is(Kind::Bool) && !value.truth; }},
    {"callable", isCallable}};

static const Comparison comparisons[] = {{{"equalto", "eq", "=="}, Operation::Equal},
                                         {{"ne", "!=", "ne"}, Operation::Unequal},
                                         {{"lt", "lessthan", "<"}, Operation::Less},
                                         {{"le", "<=", "le"}, Operation::LessEqual},
                                         {{"gt", "greaterthan", ">"}, Operation::Greater},
                                         {{"ge", ">=", "ge"}, Operation::GreaterEqual},
                                         {{"in", "in", "in"}, Operation::In}};

/// Tests of whole numbers.
static bool testRest(Interpreter &run, const Node *node, Slice name, const Value &value,
                     const Arguments &arguments, bool &isTrue) {
  bool isDivisible = name.is("divisibleby");
  const Value *divisor = isDivisible ? arguments.get(0, "num") : nullptr;
  if (!value.isWhole() || (isDivisible && (!divisor || !divisor->isWhole())))
    return run.fail(node, "the test `%.*s` is one of whole numbers", int(name.size), name.data);
  int64_t by = isDivisible ? divisor->integer() : 2;
  if (by == 0)
    return run.fail(node, "division by zero");
  bool isMultiple = by == -1 || value.integer() % by == 0;
  isTrue = name.is("odd") ? !isMultiple : isMultiple;
  return true;
}

bool jinja::applyTest(Interpreter &run, const Node *node, Slice name, const Value &value,
                      const Arguments &arguments, bool &isTrue) {
  for (const PlainTest &test : plainTests)
    if (name.is(test.name)) {
      if (!arguments.areKnown(0))
        return run.fail(node, "the test `%s` takes no argument", test.name);
      isTrue = test.holds(value);
      return true;
    }
  for (const Comparison &test : comparisons)
    if (name.is(test.names[0]) || name.is(test.names[1]) || name.is(test.names[2])) {
      if (arguments.values.size() != 1 || !arguments.areKnown(1))
        return run.fail(node, "the test `%s` takes one argument", test.names[0]);
      Node compared = *node;
      compared.operation = test.operation;
      return holds(run, &compared, value, arguments.values[0], isTrue);
    }
  if (name.is("odd") || name.is("even") || name.is("divisibleby"))
    return testRest(run, node, name, value, arguments, isTrue);
  return run.fail(node, "the test `%.*s` is not known", int(name.size), name.data);
}
