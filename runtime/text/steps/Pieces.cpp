// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From matches to pieces: which of the parts of a text, matches and what lies between them, belong
// together.
#include "text/steps/Pieces.h"

using namespace attn;

namespace {

/// Takes the parts of a text from front to back, and joins them.
class Splitter {
public:
  Splitter(size_t offset, SplitBehaviour behaviour, Vector<Piece> &pieces)
      : offset(offset), behaviour(behaviour), pieces(pieces) {}

  void add(size_t begin, size_t end, bool isMatch) {
    if (begin == end)
      return;
    bool wasMatch = previousIsMatch;
    previousIsMatch = isMatch;
    bool joins = false;
    switch (behaviour) {
    case SplitBehaviour::Removed:
      if (isMatch)
        return;
      break;
    case SplitBehaviour::Isolated:
      break;
    case SplitBehaviour::MergedWithPrevious:
      joins = isMatch && !wasMatch;
      break;
    case SplitBehaviour::MergedWithNext: // of matches in a row, the last one
      joins = !isMatch && wasMatch;
      break;
    case SplitBehaviour::Contiguous:
      joins = isMatch == wasMatch;
      break;
    }
    if (joins && !isFirst)
      pieces.back().end = offset + end;
    else
      isGood = isGood && pieces.push({offset + begin, offset + end, -1});
    isFirst = false;
  }

  bool isGood = true;

private:
  size_t offset;
  SplitBehaviour behaviour;
  Vector<Piece> &pieces;
  bool previousIsMatch = false, isFirst = true;
};

} // namespace

bool attn::splitText(Slice text, size_t offset, const Pattern &pattern, SplitBehaviour behaviour,
                     bool isInverted, Vector<Piece> &pieces) {
  Splitter splitter(offset, behaviour, pieces);
  Matcher matcher(pattern, text);
  size_t begin, end, done = 0;
  while (matcher.next(begin, end) && splitter.isGood) {
    splitter.add(done, begin, isInverted);
    splitter.add(begin, end, !isInverted);
    done = end;
  }
  splitter.add(done, text.size, isInverted);
  return splitter.isGood && !matcher.hasFailed();
}
