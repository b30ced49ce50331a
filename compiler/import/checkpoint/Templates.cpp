// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specs of families as templates, in Mustache: `{{name}}` is a value, and what stands between
// `{{#name}}` and `{{/name}}` is there where a condition holds, with `{{^name}}` where it does not.
#include "compiler/import/checkpoint/Families.h"
#include "llvm/Support/Mustache.h"

using namespace llvm;

namespace attn::importer {

static constexpr std::pair<StringLiteral, StringLiteral> templates[] = {
#include "compiler/import/Templates.inc"
};

void writeTemplate(FamilyWriter &writer, StringRef name, const TemplateValues &values) {
  const auto *found = llvm::find_if(templates, [&](const auto &one) { return one.first == name; });
  BumpPtrAllocator memory;
  StringSaver saver(memory);
  mustache::MustacheContext context(memory, saver);
  mustache::Template text(found->second, context);
  text.overrideEscapeCharacters(mustache::EscapeMap()); // a spec is no HTML
  text.render(json::Object(values.values), writer.os);
}

} // namespace attn::importer
