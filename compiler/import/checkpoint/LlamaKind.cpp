// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a row of the table of decoders in Llama's form is put together, and found.
#include "compiler/import/checkpoint/LlamaKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

LlamaKind LlamaKind::as(StringRef name) const {
  LlamaKind other = *this;
  other.type = name;
  return other;
}

LlamaKind &LlamaKind::with(uint64_t more) {
  traits |= more;
  return *this;
}

LlamaKind &LlamaKind::withExperts(const LlamaExperts &own) {
  experts = &own;
  return *this;
}

LlamaKind &LlamaKind::withAngles(double ofBase, double ofPart) {
  base = ofBase, part = ofPart;
  return with(ofPart == 1 ? 0 : PartsOfHeads);
}

LlamaKind &LlamaKind::withHeads(int64_t ofFeatures, int64_t ofKeys) {
  features = ofFeatures, groups = ofKeys;
  return *this;
}

LlamaKind &LlamaKind::withWindow(int64_t size, int64_t layersPerFull) {
  window = size, fullEvery = layersPerFull;
  return *this;
}

LlamaKind &LlamaKind::withCaps(double ofKeys, double ofTokens) {
  cap = ofKeys, lastCap = ofTokens;
  return *this;
}

LlamaKind &LlamaKind::withNorms(LlamaNorm which, double ofEps, StringRef key) {
  norm = which, eps = ofEps, epsKey = key;
  return *this;
}

LlamaKind &LlamaKind::withPlaces(const LlamaPlaces &names) {
  places = names;
  return *this;
}

LlamaKind &LlamaKind::withHeadNorms(LlamaHeadNorm which, StringRef queries, StringRef keys,
                                    StringRef asked) {
  headNorm = which, queryNorm = queries, keyNorm = keys, headNormKey = asked;
  return *this;
}

LlamaKind &LlamaKind::withBiases(LlamaBias input, LlamaBias output, LlamaBias ofMlp) {
  inputBias = input, outBias = output, mlpBias = ofMlp;
  return *this;
}

LlamaKind &LlamaKind::withHeadBias(LlamaBias ofTokens) {
  headBias = ofTokens;
  return *this;
}

LlamaKind &LlamaKind::withMlp(LlamaMlp which, StringRef activation, StringRef first,
                              StringRef second) {
  mlp = which, act = activation, up = first, down = second;
  return *this;
}

LlamaKind &LlamaKind::withMixer(LlamaMixer which) {
  mixer = which;
  return *this;
}

LlamaKind &LlamaKind::withLatent(const LlamaLatent &lengths) {
  latent = lengths;
  return *this;
}

LlamaKind &LlamaKind::withNames(StringRef output, StringRef last) {
  out = output, lastNorm = last;
  return *this;
}

LlamaKind &LlamaKind::withOwnNames(ArrayRef<LlamaName> own) {
  names = own;
  return *this;
}

LlamaKind &LlamaKind::withActKey(StringRef key) {
  actKey = key;
  return *this;
}

const LlamaKind *llamaKind(StringRef type) {
  const LlamaKind *kind =
      llvm::find_if(llamaKinds(), [&](const LlamaKind &one) { return one.type == type; });
  return kind == llamaKinds().end() ? nullptr : kind;
}

} // namespace attn::importer
