// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The turns of a chat, as clients of OpenAI's API send them, to the variables of a chat template.
#pragma once

#include "serve/CallText.h"
#include "serve/Texts.h"

namespace attn {

/// The turns of a request, and the text that a template makes of them.
class Turns {
public:
  explicit Turns(Exchange &exchange) : exchange(exchange) {}

  /// Reads one of `messages`. False, with an error, where it is none.
  bool addMessage(size_t place);
  /// Reads one of the items of /v1/responses: a message, a call of a tool, what a tool has said.
  bool addItem(size_t place);
  /// Adds a turn that is a text, read at a place of the body.
  bool addText(const char *role, size_t place, const char *what);
  bool empty() const { return turns.empty(); }

  /// Appends the text that a template makes of the turns and the tools, with further variables,
  /// which are a JSON object or nothing.
  attn_status render(const attn_chat_template &chatTemplate, const ToolList &tools, Slice variables,
                     Vector<char> &text, char **message) const;
  /// The bytes of picture files, in their order.
  size_t pictureCount() const { return pictures.size(); }
  Slice picture(size_t index) const { return sliceOf(pictures[index]); } ///< one of them

private:
  /// Bytes of this; SIZE_MAX as `begin`: there are none.
  struct Part {
    size_t begin = SIZE_MAX, size = 0;
    bool exists() const { return begin != SIZE_MAX; } ///< whether it is said
  };
  /// A call that the assistant has made; arguments as JSON.
  struct Call {
    Part name, id, arguments;
  };
  /// A part of what a turn says: a text, or a picture.
  struct Content {
    Part text;
    bool isPicture;
  };
  /// A turn; contents and calls follow each other in their lists.
  struct Turn {
    Part role, name, callId, thought;
    size_t firstContent = 0, contentCount = 0, firstCall = 0, callCount = 0;
    bool hasPictures = false;
  };
  /// How a template wants what an assistant says with calls: some take a mapping of arguments and
  /// no content at all, others texts.
  struct Style {
    bool areArgumentsTexts, isContentText;
  };

  /// The request is wrong; false.
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  /// The bytes of a part.
  Slice sliceOf(const Part &part) const { return {bytes.data() + part.begin, part.size}; }
  bool keep(Slice text, Part &part); ///< makes a part of a text; false without memory
  /// Reads a string.
  bool readPart(size_t place, const char *what, Part &part);
  bool readContents(size_t place, Turn &turn);
  bool addContent(size_t place);
  bool addPicture(size_t place);
  bool addCall(size_t place);
  bool addCall(Call &call, size_t name, size_t arguments);
  /// A turn of the assistant that calls and thoughts of items belong to.
  Turn *assistant();
  /// Adds an item of one of the types that are known.
  bool addCallItem(size_t place);
  bool addResult(size_t place);
  bool addThought(size_t place);
  bool appendTurn(const Turn &turn, const Style &style, Vector<char> &json) const;
  bool appendVariables(const ToolList &tools, Slice variables, const Style &style,
                       Vector<char> &json) const;

  Exchange &exchange;
  Vector<char> bytes;
  Vector<Turn> turns;
  Vector<Content> contents;
  Vector<Call> calls;
  Vector<Part> pictures;
};

} // namespace attn
