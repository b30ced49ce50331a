// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The turns of a chat, and the answers that a model gives.
#pragma once

#include "session/TextSession.h"
#include "text/jinja/ChatTemplate.h"

namespace attn {

/// A chat: each answer is what follows the text that the template makes of all turns. What that
/// begins with is in the caches as far as turns before have been answered. What it refers to
/// outlives it.
class Chat {
public:
  Chat(TextSession &session, const ChatTemplate &chatTemplate)
      : session(session), chatTemplate(chatTemplate) {}

  /// Adds a picture to the turn that is added next.
  attn_status addPicture(const char *path, Error &error);
  /// Adds a turn; what is not UTF-8 in it counts as U+FFFD. False where memory is lacking.
  bool add(Slice role, Slice content);
  /// Answers, and adds the answer as a turn of the assistant. After an error the turns are as they
  /// were.
  attn_status answer(const attn_text_options &options, attn_text_result &result, Error &error);

private:
  /// Keeps a piece of the answer, and passes it on.
  static int32_t onText(void *user, const char *text, size_t size);

  TextSession &session;
  const ChatTemplate &chatTemplate;
  Vector<char> turns; ///< objects of JSON, with commas between them
  int pictures = 0;   ///< of the turn that is added next
  /// Of a call of `answer`.
  const attn_text_options *options = nullptr;
  Vector<char> answered;
  bool hasRoom = true;
};

} // namespace attn
