// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of encoders of pictures around language models.
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

static const EyesKind *const kinds[] = {&qwenEyes, &towerEyes, &gemma4Eyes, &internEyes,
                                        &pixtralEyes};

/// The form of a model's encoder; null where none is read.
static const EyesKind *kindOf(StringRef type) {
  for (const EyesKind *kind : kinds) {
    SmallVector<StringRef> types;
    kind->types.split(types, ' ');
    if (is_contained(types, type))
      return kind;
  }
  return nullptr;
}

std::string Eyes::spanNames() const {
  return !isWhole ? "" : isPrefix ? ", final" : ", since, until";
}

std::string Eyes::spanParameters() const {
  if (!isWhole)
    return "";
  return isPrefix ? ", final: i32[B]" : ", since: i32[B, T], until: i32[B, T]";
}

std::string EyesReader::partOf(StringRef name) const {
  return (hasWithin(("model." + name).str()) ? "model." : "") + name.str() + ".";
}

int64_t EyesReader::lastLayer(int64_t layers, int64_t otherwise, StringRef stack,
                              std::vector<std::string> &ignored) const {
  StringRef key = "vision_feature_layer";
  auto layer = int64_t(outer.number(key).value_or(double(otherwise)));
  if (outer.has(key) && !outer.whole(key))
    outer.refuse(key, "the number of one layer");
  int64_t last = layer < 0 ? layers + 1 + layer : layer;
  if (last < 1 || last > layers)
    outer.refuse(key, "a layer of the encoder, which has " + Twine(layers));
  for (int64_t n = last; n < layers; ++n)
    ignored.push_back((stack + Twine(n) + ".*").str());
  return last;
}

std::string quotedNames(ArrayRef<std::string> names) {
  return join(map_range(names, [](const std::string &name) { return '"' + name + '"'; }), ", ");
}

ArrayRef<StringRef> eyesParts(StringRef wrapperType) {
  const EyesKind *kind = kindOf(wrapperType);
  return kind ? kind->parts : ArrayRef<StringRef>();
}

std::optional<Eyes> readEyes(FamilyWriter &writer, int64_t width, int64_t turned) {
  if (!writer.folder.around)
    return std::nullopt;
  Config outer(writer.folder.around->config, "config.json");
  std::string type = outer.text("model_type", ""), text;
  if (type == "ministral3") // as some are published, whose language model is called so
    type = "mistral3";
  const EyesKind *kind = kindOf(type);
  EyesReader reader{writer, outer, type, width, turned};
  if (!kind || none_of(kind->parts, [&](StringRef part) { return reader.hasWithin(part); }))
    return std::nullopt;
  raw_string_ostream os(text);
  Eyes eyes = kind->read(reader, os);
  eyes.text = text;
  writer.config.adopt(outer);
  return eyes;
}

} // namespace attn::importer
