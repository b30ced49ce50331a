// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The norms of a decoder in Llama's form: how they are declared, and how they are applied.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

std::string LlamaNorms::declared(ArrayRef<StringRef> names, StringRef axis, double eps) const {
  SmallVector<std::string> own;
  for (StringRef name : names)
    if (!name.empty())
      own.push_back((name + (isApart() ? "_plain" : "")).str());
  if (own.empty())
    return "";
  bool isBareRms = kind == LlamaNorm::BareRms,
       isRms = kind == LlamaNorm::Rms || kind == LlamaNorm::OnePlusRms || isBareRms;
  std::string text = std::string(isRms ? "rmsnorm " : "layernorm ") + join(own, ", ") + ": " +
                     axis.str() + " eps " + numberText(eps);
  if (kind == LlamaNorm::OnePlusRms && !addedOne)
    text += " offset 1";
  if (isApart() || kind == LlamaNorm::Bare)
    text += " no weight no bias";
  else if (isBareRms)
    text += " no weight";
  else if (kind == LlamaNorm::NoBias)
    text += " no bias";
  text += '\n';
  for (StringRef name : names)
    if (isApart() && !name.empty())
      text += ("param " + name + ".weight, " + name + ".bias: [" + axis + "]\n").str();
  return text;
}

std::string LlamaNorms::of(StringRef name, const std::string &x) const {
  if (name.empty())
    return x;
  if (isApart())
    return ("(" + name + "_plain(" + x + ") * (1 + " + name + ".weight) + " + name + ".bias)")
        .str();
  return (name + "(" + x + ")").str();
}

} // namespace attn::importer
