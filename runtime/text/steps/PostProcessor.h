// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Post-processors: they put special tokens around those of a text, or of two.
#pragma once

#include "text/steps/AlignedText.h"
#include "text/steps/ComponentReader.h"
#include "text/steps/Vocabulary.h"

namespace attn {

/// Where a token comes from, as the C interface numbers it: the text, or what is put around it.
enum class Origin : uint8_t { Text = 0, Special = 1, Padding = 2 };

/// The tokens of a text with what is known of each.
struct Encoding {
  Vector<int32_t> ids;
  Vector<int32_t> types; ///< which of two texts, as the model was trained
  Vector<Range> ranges;  ///< in its text; empty for tokens that stand for nothing
  Vector<Origin> origins;
  /// Appends a token; false where memory is lacking.
  bool push(int32_t id, int32_t type, Range range, Origin origin = Origin::Text) {
    return ids.push(id) && types.push(type) && ranges.push(range) && origins.push(origin);
  }
  /// How many tokens.
  size_t size() const { return ids.size(); }
};

/// An item of a template: the tokens of a text, or one special token.
struct TemplateItem {
  int32_t sequence = -1; ///< 0, 1, or -1
  int32_t id = -1, type = 0;
};

/// One step; a Sequence is several.
struct PostProcessor {
  /// What the step does.
  enum Kind { Template, TrimOffsets };
  Kind kind = Template;
  /// Of Template: its items for one text and for two, of the tokenizer's list of items.
  uint32_t single = 0, singleEnd = 0, pair = 0, pairEnd = 0;
  bool addsSpace = true; ///< of TrimOffsets: one space before a word is its own
};

/// The steps, and the items of their templates.
struct PostProcessors {
  Vector<PostProcessor> steps;
  Vector<TemplateItem> items;
  /// Reads the component at `value`, which may be null.
  bool read(ComponentReader &reader, JsonValue value);
  /// Adds a template of special tokens before and behind each text: [before] A [behind], and
  /// [before] A [behind] [between] B [behind]. An id of -1 stands for no token.
  bool addFrame(ComponentReader &reader, int32_t before, int32_t behind, int32_t between,
                int32_t pairType);
  /// How many tokens `join` makes.
  size_t countJoined(const Encoding *texts, bool isPair, bool addsSpecial) const;
  /// Tokens that the steps add to one text, or to two.
  size_t countAdded(bool isPair) const;
  /// Joins one text's tokens, or two texts', with special ones where `addsSpecial`. False where
  /// memory is lacking.
  bool join(Encoding *texts, bool isPair, bool addsSpecial, Encoding &joined) const;
  /// Takes the spaces of a token away from its range in `text`, where a step says so. `isFirst`: it
  /// is the first one of its text.
  void trim(Slice token, Slice text, bool isFirst, Range &range) const;
};

} // namespace attn
