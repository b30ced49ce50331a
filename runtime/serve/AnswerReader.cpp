// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks in a stream of text. What may be the beginning of one waits.
#include "serve/AnswerReader.h"

#include <initializer_list>

namespace attn {

static bool isSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

/// The size without the white space at its end.
static size_t sizeWithoutSpace(Slice text) {
  while (text.size && isSpace(text.data[text.size - 1]))
    --text.size;
  return text.size;
}

void AnswerReader::begin(Slice prompt) {
  isAtBegin = false;
  if (isOfChannels()) {
    mode = Mode::Header;
    return;
  }
  prompt.size = sizeWithoutSpace(prompt);
  if (!thoughts || !prompt.endsWith(Slice(thoughts->begin)))
    return;
  mode = Mode::Thought;
  isAtBegin = true;
}

bool AnswerReader::add(Slice piece) {
  for (size_t i = 0; i < piece.size; ++i)
    canClose |= strchr("}]>", piece.data[i]) != nullptr;
  hasRoom = hasRoom && append(pending, piece);
  return read(false);
}

bool AnswerReader::finish() {
  canClose = true;
  return read(true);
}

bool AnswerReader::read(bool isEnd) {
  for (bool isMoving = true; isMoving && goesOn && hasRoom;)
    switch (mode) {
    case Mode::Content:
      isMoving = readContent(isEnd);
      break;
    case Mode::Thought:
      isMoving = readThought(isEnd);
      break;
    case Mode::Call:
      isMoving = readCall(isEnd);
      break;
    case Mode::Header:
      isMoving = readHeader(isEnd);
      break;
    case Mode::Message:
      isMoving = readMessage(isEnd);
      break;
    }
  return goesOn && hasRoom;
}

void AnswerReader::drop(size_t size) {
  size_t left = pending.size() - size;
  if (left)
    memmove(pending.data(), pending.data() + size, left);
  pending.resize(left);
}

void AnswerReader::handContent(Slice text) {
  if (text.size == 0 || !goesOn)
    return;
  if (!unsaid.empty()) {
    Vector<char> own;
    own.swap(unsaid);
    goesOn = sink.take(sink.user, {AnswerPart::Content, Slice(own), Slice(), Slice()});
  }
  goesOn = goesOn && sink.take(sink.user, {AnswerPart::Content, text, Slice(), Slice()});
  mayBeBare = false;
}

void AnswerReader::hand(AnswerPart::Kind kind, size_t size) {
  size_t skipped = 0;
  while (isAtBegin && skipped < size && isSpace(pending[skipped]))
    ++skipped;
  if (skipped < size) {
    isAtBegin = false;
    Slice text(pending.data() + skipped, size - skipped);
    if (kind == AnswerPart::Content)
      handContent(text);
    else
      goesOn = goesOn && sink.take(sink.user, {kind, text, Slice(), Slice()});
  }
  drop(size);
}

size_t AnswerReader::contentMarks(const char *(&marks)[4]) const {
  size_t count = 0;
  for (const char *mark :
       {format ? format->begin : nullptr, format ? format->section : nullptr,
        format ? format->sectionEnd : nullptr, thoughts ? thoughts->begin : nullptr})
    if (mark)
      marks[count++] = mark;
  return count;
}

const char *AnswerReader::findMark(size_t &place) const {
  const char *marks[4], *found = nullptr;
  size_t count = contentMarks(marks);
  place = SIZE_MAX;
  for (size_t i = 0; i < count; ++i)
    if (size_t at = placeOf(Slice(pending), marks[i]); at < place) {
      place = at;
      found = marks[i];
    }
  return found;
}

size_t AnswerReader::heldSize(const char *const *marks, size_t count, bool holdsSpace) const {
  Slice text(pending);
  size_t held = 0;
  for (size_t i = 0; i < count; ++i) {
    Slice mark(marks[i]);
    size_t most = mark.size - 1 < text.size ? mark.size - 1 : text.size;
    for (size_t size = most; size > held; --size)
      if (mark.startsWith(text.from(text.size - size)))
        held = size;
  }
  if (!holdsSpace)
    return held;
  text.size -= held;
  return pending.size() - sizeWithoutSpace(text);
}

bool AnswerReader::readContent(bool isEnd) {
  Slice text(pending);
  // Calls without a mark are at the beginning, or behind others.
  if (format && format->isBare && mayBeBare && !tools.empty()) {
    size_t at = 0;
    while (at < text.size && (isSpace(text.data[at]) || (callCount > 0 && text.data[at] == ';')))
      ++at;
    if (at == text.size && !isEnd)
      return false;
    if (at < text.size && text.data[at] == '{') {
      drop(at);
      mode = Mode::Call;
      return isCallBare = true;
    }
  }
  size_t place = SIZE_MAX;
  if (const char *mark = findMark(place)) {
    // White space in front of a call is no content.
    size_t said = sizeWithoutSpace(text.between(0, place)), spaces = place - said;
    hand(AnswerPart::Content, said);
    bool isThought = thoughts && mark == thoughts->begin;
    if (isThought || (format && mark != format->begin)) {
      // What is around calls is said where there is none between.
      if (!isThought && mark == format->section)
        hasCall = false;
      if (!isThought && !hasCall)
        hasRoom = hasRoom && append(unsaid, Slice(pending.data(), spaces + strlen(mark)));
      drop(spaces + strlen(mark));
      mode = isThought ? Mode::Thought : Mode::Content;
      isAtBegin |= isThought;
      return true;
    }
    hasRoom = hasRoom && append(unsaid, Slice(pending.data(), spaces));
    drop(spaces);
    mode = Mode::Call;
    isCallBare = false;
    return true;
  }
  const char *marks[4];
  size_t count = contentMarks(marks);
  size_t held = isEnd ? 0 : heldSize(marks, count, count > 0);
  // Behind calls white space is no content.
  if (isEnd && callCount > 0)
    held = text.size - sizeWithoutSpace(text);
  hand(AnswerPart::Content, text.size - held);
  if (isEnd)
    drop(held);
  if (isEnd && sizeWithoutSpace(Slice(unsaid)) > 0) {
    goesOn = goesOn && sink.take(sink.user, {AnswerPart::Content, Slice(unsaid), Slice(), Slice()});
    unsaid.clear();
  }
  return false;
}

bool AnswerReader::readThought(bool isEnd) {
  Slice text(pending);
  size_t place = placeOf(text, thoughts->end);
  // A call ends what is thought, too: some models leave the mark out.
  bool isCall = false;
  if (format && format->begin)
    if (size_t call = placeOf(text, format->section ? format->section : format->begin);
        call < place) {
      place = call;
      isCall = true;
    }
  if (place != SIZE_MAX) {
    size_t size = sizeWithoutSpace(text.between(0, place));
    hand(AnswerPart::Thought, size);
    drop(place - size + (isCall ? 0 : strlen(thoughts->end)));
    mode = Mode::Content;
    isAtBegin = true;
    return true;
  }
  const char *marks[] = {thoughts->end, format && format->begin
                                            ? format->section ? format->section : format->begin
                                            : thoughts->end};
  hand(AnswerPart::Thought,
       isEnd ? sizeWithoutSpace(text) : pending.size() - heldSize(marks, 2, true));
  return false;
}

bool AnswerReader::takeCall(void *given, const ToolCall &call) {
  auto &reader = *static_cast<AnswerReader *>(given);
  reader.unsaid.clear();
  reader.hasCall = true;
  ++reader.callCount;
  return reader.sink.take(reader.sink.user, {AnswerPart::Call, call.arguments, call.name, call.id});
}

bool AnswerReader::readCall(bool isEnd) {
  if (!canClose && !isEnd)
    return false;
  canClose = false;
  Slice text(pending);
  size_t mark = isCallBare ? 0 : strlen(format->begin), size = 0;
  CallState state =
      readCalls(*format, tools, text.from(mark), isEnd, size, {this, takeCall}, goesOn);
  if (state == CallState::Open)
    return false;
  mode = Mode::Content;
  canClose = true;
  if (state == CallState::Whole) {
    drop(mark + size);
    isAtBegin = true;
    mayBeBare = true;
    return true;
  }
  // No call: its mark, or its first character, is content, and what follows is looked at again.
  isAtBegin = false;
  size_t said = mark ? mark : 1;
  handContent(text.between(0, said));
  drop(said);
  return true;
}

bool AnswerReader::readHeader(bool isEnd) {
  static constexpr const char *message = "<|message|>";
  // A header is short; a text without one is a message to the user.
  constexpr size_t longest = 512;
  Slice text(pending);
  size_t place = placeOf(text, message);
  bool isBegun = text.size == 0;
  for (const char *begin : {"<|channel|>", "<|start|>", " to=", message})
    isBegun |= text.startsWith(Slice(begin)) || Slice(begin).startsWith(text);
  if (!isBegun || place == SIZE_MAX || place > longest) {
    if (isBegun && !isEnd && text.size <= longest + strlen(message))
      return false;
    if (text.startsWith(Slice("<|start|>")))
      drop(isEnd ? text.size : strlen("<|start|>"));
    if (pending.empty())
      return false;
    messageKind = AnswerPart::Content;
    recipient.clear();
    mode = Mode::Message;
    return true;
  }
  Slice header = text.between(0, place);
  size_t to = placeOf(header, "to=functions.");
  recipient.clear();
  messageKind = placeOf(header, "<|channel|>analysis") != SIZE_MAX ? AnswerPart::Thought
                                                                   : AnswerPart::Content;
  if (to != SIZE_MAX) {
    Slice name = header.from(to + strlen("to=functions."));
    size_t size = 0;
    while (size < name.size && !isSpace(name.data[size]) && name.data[size] != '<')
      ++size;
    hasRoom = hasRoom && append(recipient, name.between(0, size));
    messageKind = AnswerPart::Call;
  }
  drop(place + strlen(message));
  mode = Mode::Message;
  return true;
}

bool AnswerReader::readMessage(bool isEnd) {
  static constexpr const char *ends[] = {"<|end|>", "<|call|>", "<|return|>", "<|start|>"};
  Slice text(pending);
  size_t place = SIZE_MAX, size = 0;
  for (const char *end : ends)
    if (size_t at = placeOf(text, end); at < place) {
      place = at;
      size = strlen(end);
    }
  bool isWhole = place != SIZE_MAX;
  if (messageKind != AnswerPart::Call) {
    hand(messageKind, isWhole ? place : isEnd ? text.size : text.size - heldSize(ends, 4, false));
  } else if (isWhole || isEnd) {
    Slice arguments = text.between(0, isWhole ? place : text.size);
    Slice object = sizeWithoutSpace(arguments) ? arguments : Slice("{}");
    bool isCall = !tools.empty() && !recipient.empty() && isJsonObject(object);
    if (isCall)
      goesOn = takeCall(this, {Slice(recipient), Slice(), object});
    else
      handContent(arguments);
    drop(arguments.size);
  }
  if (!isWhole)
    return false;
  // "<|start|>assistant" may stand in front of the next header.
  if (!Slice(pending).startsWith(Slice("<|start|>")))
    drop(size);
  mode = Mode::Header;
  return true;
}

} // namespace attn
