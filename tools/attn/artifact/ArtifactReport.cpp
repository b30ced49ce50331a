// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An artifact's description, JSON, to lines for people.
#include "ArtifactReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

static StringRef text(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("?");
}

static int64_t number(const json::Object &object, StringRef key) {
  return object.getInteger(key).value_or(0);
}

/// Calls `print` on the objects of an array.
static void forEach(const json::Object &object, StringRef key,
                    function_ref<void(const json::Object &)> print) {
  if (const json::Array *array = object.getArray(key))
    for (const json::Value &value : *array)
      if (const json::Object *element = value.getAsObject())
        print(*element);
}

static void printTensors(const json::Object &entry, StringRef key, raw_ostream &os) {
  ListSeparator separator;
  forEach(entry, key, [&](const json::Object &tensor) {
    os << separator << text(tensor, "name") << ": " << text(tensor, "dtype") << '[';
    ListSeparator axisSeparator;
    forEach(tensor, "axes", [&](const json::Object &axis) {
      os << axisSeparator << text(axis, "name");
      if (axis.getBoolean("dynamic").value_or(false))
        os << " <= " << number(axis, "size");
      else if (text(axis, "name") != std::to_string(number(axis, "size")))
        os << " = " << number(axis, "size");
    });
    os << ']';
  });
}

static void printParameters(const json::Object &model, raw_ostream &os) {
  size_t width = 0;
  forEach(model, "parameters", [&](const json::Object &parameter) {
    width = std::max(width, text(parameter, "name").size());
  });
  os << "parameters: " << number(model, "elements") << " in " << number(model, "tensors")
     << " tensors\n";
  forEach(model, "parameters", [&](const json::Object &parameter) {
    os << "  " << left_justify(text(parameter, "name"), width) << "  " << text(parameter, "dtype")
       << '[';
    ListSeparator separator;
    if (const json::Array *shape = parameter.getArray("shape"))
      for (const json::Value &size : *shape)
        os << separator << size.getAsInteger().value_or(0);
    os << ']';
    if (int64_t layers = number(parameter, "layers"))
      os << "  " << layers << " layers";
    os << '\n';
  });
}

void printModel(const json::Object &model, ArtifactForm form, raw_ostream &os) {
  os << "model " << text(model, "name") << ", " << formName(form) << ", compiled by attn "
     << text(model, "version") << "\nprecision: " << text(model, "precision") << "\ntargets:";
  if (const json::Array *targets = model.getArray("targets"))
    for (const json::Value &target : *targets)
      os << ' ' << target.getAsString().value_or("?");
  if (auto assembler = model.getString("assembler"))
    os << " (GPU code assembled by " << *assembler << ')';
  os << "\nweights: "
     << (model.getBoolean("embedded").value_or(false) ? "embedded" : "not embedded") << '\n';
  forEach(model, "entries", [&](const json::Object &entry) {
    os << "entry " << text(entry, "name") << '(';
    printTensors(entry, "inputs", os);
    os << ") -> ";
    printTensors(entry, "outputs", os);
    os << '\n';
  });
  forEach(model, "dims", [&](const json::Object &dim) {
    bool isDynamic = dim.getBoolean("dynamic").value_or(false);
    os << (isDynamic ? "dyn " : "dim ") << text(dim, "name") << (isDynamic ? " <= " : " = ")
       << number(dim, "size") << '\n';
  });
  printParameters(model, os);
}

} // namespace attn::tool
