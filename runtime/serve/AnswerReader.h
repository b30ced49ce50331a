// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model writes, piece by piece: what it says, what it thinks, and which tools it calls.
#pragma once

#include "serve/CallText.h"

namespace attn {

/// A part of an answer.
struct AnswerPart {
  /// What it is of.
  enum Kind : uint8_t { Content, Thought, Call } kind;
  Slice text;     ///< of Call the arguments, an object of JSON
  Slice name, id; ///< of Call; an id that the model has not given has null data
};

/// Who takes parts; false stops.
struct AnswerSink {
  void *user;
  bool (*take)(void *user, const AnswerPart &part);
};

/// Reads an answer in the format of its model. Parts are handed over as soon as it is known what
/// they are, a call when it is whole; text that looks like a call and is none is content.
class AnswerReader {
public:
  /// `format` is null where no calls are looked for, `thoughts` where the model has no marks for
  /// them. All of it outlives the reader.
  AnswerReader(const AnswerFormat *format, const ThoughtMarks *thoughts, const ToolList &tools,
               const AnswerSink &sink)
      : format(format), thoughts(thoughts), tools(tools), sink(sink) {}

  /// Begins behind a prompt, whose end may have begun what the model thinks.
  void begin(Slice prompt);
  /// Takes a piece of valid UTF-8; false where the sink has said so, or memory is lacking.
  bool add(Slice piece);
  /// Takes the end of the answer.
  bool finish();
  /// Whether memory was lacking.
  bool failed() const { return !hasRoom; }
  /// Whether what comes next is what the model thinks.
  bool isThinking() const { return mode == Mode::Thought; }
  int64_t calls() const { return callCount; } ///< so far

private:
  /// What comes next.
  enum class Mode : uint8_t { Content, Thought, Call, Header, Message };

  /// Reads what is pending, as far as it is known; false as `add`.
  bool read(bool isEnd);
  /// One step each; false where more is needed.
  bool readContent(bool isEnd);
  bool readThought(bool isEnd);
  bool readCall(bool isEnd);
  bool readHeader(bool isEnd);
  bool readMessage(bool isEnd);
  /// The first of the marks that content may hold, or null; `size` becomes its place.
  const char *findMark(size_t &place) const;
  /// Bytes at the end that may begin one of these marks, with white space before them.
  size_t heldSize(const char *const *marks, size_t count, bool holdsSpace) const;
  /// Hands over the first bytes of what is pending as a part, and takes them away.
  void hand(AnswerPart::Kind kind, size_t size);
  void handContent(Slice text);
  void drop(size_t size);
  /// The marks of content: of calls, of sections, of thoughts.
  size_t contentMarks(const char *(&marks)[4]) const;
  bool isOfChannels() const { return format && format->body == CallBody::Channels; }
  static bool takeCall(void *reader, const ToolCall &call);

  const AnswerFormat *format;
  const ThoughtMarks *thoughts;
  const ToolList &tools;
  AnswerSink sink;
  Mode mode = Mode::Content;
  Vector<char> pending;
  Vector<char> unsaid;    ///< a mark around calls: text, where no call follows
  Vector<char> recipient; ///< of a message
  AnswerPart::Kind messageKind = AnswerPart::Content;
  bool goesOn = true, hasRoom = true;
  bool isAtBegin = true;   ///< whether white space is left out: of a text behind a mark
  bool mayBeBare = true;   ///< whether a call without a mark may begin here
  bool isCallBare = false; ///< whether the pending one has no mark
  bool hasCall = false;    ///< whether there has been a call since the section began
  bool canClose = false;   ///< whether a call may have become whole since it was looked at
  int64_t callCount = 0;
};

} // namespace attn
