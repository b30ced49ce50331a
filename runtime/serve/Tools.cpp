// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tools as chat templates know them: {"type": "function", "function": {...}}, whatever a client
// says around them.
#include "serve/Tools.h"

#include "base/Json.h"
#include "serve/Fields.h"

namespace attn {
namespace {

/// A list under construction.
struct ToolReading {
  Exchange &exchange;
  bool isFlat;
  Vector<char> json;
  Vector<size_t> names; ///< in `bytes`, with their NUL
  Vector<char> bytes;

  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  bool add(size_t place);
  bool addFunction(size_t place);
  bool appendValue(size_t place);
};

/// Appends the JSON at a place as it is.
bool ToolReading::appendValue(size_t place) {
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  return reader.skipValue() && append(json, {exchange.body.data() + place, reader.position});
}

bool ToolReading::addFunction(size_t place) {
  Vector<char> name;
  size_t description = 0, parameters = 0;
  bool hasDescription = false, hasParameters = false, isStrict = false;
  const Field fields[] = {{"name", Field::String, &name},
                          {"description", Field::Place, &description, nullptr, &hasDescription},
                          {"parameters", Field::Place, &parameters, nullptr, &hasParameters},
                          {"strict", Field::Truth, &isStrict},
                          {"type", Field::Only, nullptr, "\"function\""}};
  if (!readFields(exchange, place, "the function of a tool", fields, 5))
    return false;
  if (name.empty())
    return fail("the function of a tool has no `name`");
  if (isStrict)
    return exchange.fail(
               400,
               "tool `%.64s` is `strict`, which this server cannot warrant: leave it out, "
               "and check the arguments",
               name.data()),
           false;
  if (hasParameters && exchange.body[parameters] != '{')
    return exchange.fail(400, "the `parameters` of tool `%.64s` are no JSON schema object",
                         name.data()),
           false;
  for (size_t known : names)
    if (Slice(bytes.data() + known).is(name.data()))
      return exchange.fail(400, "two tools are called `%.64s`", name.data()), false;
  bool isAdded = names.push(bytes.size()) && bytes.append(name.data(), name.size() + 1) &&
                 (json.size() == 1 || append(json, Slice(", "))) &&
                 append(json, Slice("{\"type\": \"function\", \"function\": {\"name\": ")) &&
                 appendJsonString(Slice(name), json);
  if (hasDescription)
    isAdded = isAdded && append(json, Slice(", \"description\": ")) && appendValue(description);
  isAdded = isAdded && append(json, Slice(", \"parameters\": ")) &&
            (hasParameters ? appendValue(parameters)
                           : append(json, Slice("{\"type\": \"object\", \"properties\": {}}"))) &&
            append(json, Slice("}}"));
  return isAdded || exchange.failWithoutMemory();
}

bool ToolReading::add(size_t place) {
  if (isFlat)
    return addFunction(place);
  size_t function = 0;
  bool hasFunction = false;
  const Field fields[] = {{"type", Field::Only, nullptr, "\"function\""},
                          {"function", Field::Place, &function, nullptr, &hasFunction}};
  if (!readFields(exchange, place, "an element of `tools`", fields, 2))
    return false;
  return hasFunction ? addFunction(function) : fail("an element of `tools` has no `function`");
}

/// Whether tools may be called.
bool readChoice(Exchange &exchange, size_t place, bool &mayCall) {
  Slice rest(exchange.body.data() + place, exchange.bodySize - place);
  mayCall = rest.startsWith(Slice("\"auto\""));
  if (mayCall || rest.startsWith(Slice("\"none\"")))
    return true;
  bool isKnown = rest.startsWith(Slice("\"required\"")) || rest.startsWith(Slice("{"));
  exchange.fail(400, isKnown ? "`tool_choice` asks for a call, which this server cannot warrant: "
                               "expected \"auto\" or \"none\""
                             : "`tool_choice` is neither \"auto\" nor \"none\"");
  return false;
}

} // namespace

bool readTools(Exchange &exchange, const ToolFields &fields, ToolList &tools) {
  bool mayCall = true;
  if (fields.choice != SIZE_MAX && !readChoice(exchange, fields.choice, mayCall))
    return false;
  if (fields.tools == SIZE_MAX)
    return true;
  if (exchange.body[fields.tools] != '[') {
    exchange.fail(400, "`tools` is no list");
    return false;
  }
  ToolReading reading{exchange, fields.isFlat, {}, {}, {}};
  auto take = [](void *self, size_t place) { return static_cast<ToolReading *>(self)->add(place); };
  if (!reading.json.push('['))
    return exchange.failWithoutMemory();
  if (!forEachElement(exchange, fields.tools, take, &reading))
    return false;
  if (!mayCall || reading.names.empty())
    return true;
  return (reading.json.push(']') && tools.read(Slice(reading.json))) ||
         exchange.failWithoutMemory();
}

} // namespace attn
