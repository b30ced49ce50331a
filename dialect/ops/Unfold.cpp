// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.unfold: what its entries pass on by name, and verification.
#include "dialect/Unfold.h"
#include "dialect/Attributes.h"
#include "dialect/Settings.h"

using namespace mlir;
using namespace attn;

static StringRef nameIn(Attribute name) {
  auto text = dyn_cast_or_null<StringAttr>(name);
  return text ? text.getValue() : StringRef();
}

StringRef attn::inputName(FunctionOpInterface entry, unsigned number) {
  return nameIn(entry.getArgAttr(number, attributes::name));
}

StringRef attn::outputName(FunctionOpInterface entry, unsigned number) {
  return nameIn(entry.getResultAttr(number, attributes::name));
}

/// The number of a result from `from` on that is called `name`, or -1.
static int32_t findOutput(FunctionOpInterface entry, unsigned from, StringRef name) {
  for (unsigned i = from; i < entry.getNumResults(); ++i)
    if (outputName(entry, i) == name)
      return static_cast<int32_t>(i);
  return -1;
}

static int32_t findInput(FunctionOpInterface entry, StringRef name) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (inputName(entry, i) == name)
      return static_cast<int32_t>(i);
  return -1;
}

UnfoldWiring::UnfoldWiring(FunctionOpInterface first, FunctionOpInterface step, int64_t token,
                           bool hasBegin) {
  llvm::SmallBitVector taken(step.getNumResults());
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    UnfoldSource source;
    StringRef name = inputName(step, i);
    if (i != token) {
      source.first = findOutput(first, hasBegin ? 0 : 1, name);
      source.step = findOutput(step, 1, name);
      if (source.first < 0)
        source.input = findInput(first, name);
      if (source.first < 0 && source.input < 0) {
        source.input = static_cast<int32_t>(first.getNumArguments() + own.size());
        own.push_back(static_cast<int32_t>(i));
      }
      if (source.step >= 0)
        taken.set(source.step);
    }
    sources.push_back(source);
  }
  for (unsigned i = 1; i < step.getNumResults(); ++i)
    if (!taken.test(i))
      stacked.push_back(static_cast<int32_t>(i));
}

/// The tensor types of the results of which each row has a score for every token, or null.
static RankedTensorType scoresOf(FunctionOpInterface entry) {
  auto type = entry.getNumResults() ? dyn_cast<RankedTensorType>(entry.getResultTypes().front())
                                    : RankedTensorType();
  bool isRight = type && type.getElementType().isF32() && type.getRank() > 0 &&
                 !type.isDynamicDim(type.getRank() - 1);
  return isRight ? type : RankedTensorType();
}

LogicalResult UnfoldOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto first = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getFirstAttr()),
       step = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getStepAttr());
  if (!first || !step) // unfold_c1
    return emitOpError("expected two entries, but got ") << getFirst() << " and " << getStep();
  auto token = static_cast<int64_t>(getToken());
  auto tokens = token >= 0 && token < static_cast<int64_t>(step.getNumArguments())
                    ? dyn_cast<RankedTensorType>(step.getArgumentTypes()[token])
                    : RankedTensorType();
  if (!tokens || !tokens.getElementType().isInteger()) // unfold_c2
    return emitOpError("expected an input of integers to take the tokens, but got ") << token;
  RankedTensorType scores = scoresOf(step);
  if (!scores || (!getBegin() && scoresOf(first) != scores)) // unfold_c3
    return emitOpError("expected scores of f32 along a vocabulary of known size, of one type");
  if (static_cast<int64_t>(getLimit()) < 1) // unfold_c4
    return emitOpError("expected a limit of at least 1, but got ")
           << static_cast<int64_t>(getLimit());
  if (FlatSymbolRefAttr shared = getSharedAttr()) { // unfold_c8
    auto rows = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, shared);
    if (!rows || !rows->hasAttr(attributes::rows) || scoresOf(rows) != scores)
      return emitOpError("expected an entry whose rows are by themselves, with the scores of ")
             << getStep() << ", but got " << shared;
  }
  if (failed(verifySettings(*this))) // unfold_c7
    return failure();
  if (numberOf(*this, *findSetting("beams")) > 1 &&
      (tokens.getRank() < 1 || !tokens.isDynamicDim(0))) // unfold_c6
    return emitOpError("expected several beams of rows along a dynamic axis");
  UnfoldWiring wiring(first, step, token, getBegin().has_value());
  for (auto [source, type] : llvm::zip_equal(wiring.sources, step.getArgumentTypes())) {
    Type before =
        source.first >= 0 ? first.getResultTypes()[source.first]
        : source.input >= 0 && source.input < static_cast<int32_t>(first.getNumArguments())
            ? first.getArgumentTypes()[source.input]
            : type;
    Type later = source.step >= 0 ? step.getResultTypes()[source.step] : type;
    if (before != type || later != type) // unfold_c5
      return emitOpError("expected a tensor of ")
             << type << " for each step, but got " << (before != type ? before : later);
  }
  return success();
}
