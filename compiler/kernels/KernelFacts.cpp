// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts as text of JSON in one attribute of the kernel's op.
#include "compiler/kernels/KernelFacts.h"

#include "dialect/AttnDialect.h"
#include "dialect/Attributes.h"
#include "dialect/Reasons.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

KernelFacts::KernelFacts(Operation *kernel) : kernel(wantsReasons(kernel) ? kernel : nullptr) {}

void KernelFacts::change(llvm::function_ref<void(llvm::json::Object &)> edit) {
  if (!kernel)
    return;
  std::string known = factsOf(kernel);
  llvm::json::Value facts = llvm::cantFail(llvm::json::parse(known.empty() ? "{}" : known));
  edit(*facts.getAsObject());
  std::string text = llvm::formatv("{0}", facts);
  kernel->setAttr(attributes::facts, StringAttr::get(kernel->getContext(), text));
}

void KernelFacts::add(StringRef name, llvm::json::Value value) {
  change([&](llvm::json::Object &facts) { facts[name] = std::move(value); });
}

void KernelFacts::append(StringRef name, llvm::json::Value value) {
  change([&](llvm::json::Object &facts) {
    if (!facts.getArray(name))
      facts[name] = llvm::json::Array();
    facts.getArray(name)->push_back(std::move(value));
  });
}

void KernelFacts::addKnown(StringRef name, std::optional<int64_t> number) {
  if (number)
    add(name, *number);
}

std::string attn::factsOf(Operation *kernel) {
  auto facts = kernel->getAttrOfType<StringAttr>(attributes::facts);
  return facts ? facts.str() : "";
}
