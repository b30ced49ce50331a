// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of encoders of pictures around language models.
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"

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
