// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How models write what they think and which tools they call: a row for each format, which is known
// by what the chat template holds.
#pragma once

#include "base/Slice.h"

namespace attn {

/// How one call is written behind its mark.
enum class CallBody : uint8_t {
  Json,     ///< an object with a name and arguments, or a list of such
  Named,    ///< a name, a mark, the arguments as JSON
  Tags,     ///< a tag with the name around tags with the arguments
  Pairs,    ///< a name, then keys and values between tags
  Words,    ///< call:name{key:value}, with strings between marks
  Channels, ///< messages, each of which has a header that says where it goes
};

/// A format of calls. What a format lacks is null.
struct AnswerFormat {
  const char *name;                 ///< of who writes so
  const char *mark;                 ///< what a template of it holds
  CallBody body;                    ///< of one call
  const char *begin, *end;          ///< around one call, or a list
  const char *section, *sectionEnd; ///< around all calls
  const char *middle;  ///< of Named between name and arguments; of Words around a string; of Tags
                       ///< in front of an argument's name
  bool isBare = false; ///< whether a call may stand without a mark at the beginning of an answer
};

/// What stands around what a model thinks.
struct ThoughtMarks {
  const char *mark; ///< what a template of it holds
  const char *begin, *end;
};

/// The format of the calls of a chat template's model; null: none that is known.
const AnswerFormat *findAnswerFormat(Slice chatTemplate);
/// Likewise of thoughts.
const ThoughtMarks *findThoughtMarks(Slice chatTemplate);
/// Where a text holds another one first; SIZE_MAX: nowhere.
size_t placeOf(Slice text, const char *part);
/// Whether it does.
inline bool holds(Slice text, const char *part) { return placeOf(text, part) != SIZE_MAX; }

/// Appends the marks of both that are written as special tokens in some vocabularies, null where
/// there are none; false without memory.
bool appendMarks(const AnswerFormat *format, const ThoughtMarks *thoughts,
                 Vector<const char *> &marks);

} // namespace attn
