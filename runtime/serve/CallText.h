// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of one call of tools, in each of the formats: whole, not whole yet, or no call.
#pragma once

#include "serve/AnswerFormat.h"
#include "text/steps/JsonTree.h"

namespace attn {

/// A call that an answer holds.
struct ToolCall {
  Slice name, id;  ///< without an id its data are null
  Slice arguments; ///< an object of JSON
};

/// What text is of a call.
enum class CallState : uint8_t { Whole, Open, Broken };

/// The tools that a request has: a list of objects as OpenAI's API has them.
class ToolList {
public:
  /// Reads the list, which this keeps; false where it is none, or without memory.
  bool read(Slice json);
  bool empty() const { return bytes.empty(); }
  Slice json() const { return Slice(bytes); }
  /// Whether there is a tool of that name.
  bool has(Slice name) const { return find(name).exists(); }
  /// Whether an argument is a string, whatever its text looks like.
  bool isString(Slice name, Slice argument) const;

private:
  /// The `function` of that name, or none.
  JsonValue find(Slice name) const;

  Vector<char> bytes;
  JsonTree tree;
};

/// Who takes calls; false stops.
struct CallSink {
  void *user;
  bool (*take)(void *user, const ToolCall &call);
};

/// Reads the call, or the list of calls, that `text` begins with, behind the mark of the format.
/// Where it is whole, hands the calls over, and `size` becomes how many bytes they and the mark
/// behind them have. At the end of an answer (`isEnd`) that mark may be missing. False in `goesOn`
/// where the sink has said so, or memory is lacking.
CallState readCalls(const AnswerFormat &format, const ToolList &tools, Slice text, bool isEnd,
                    size_t &size, const CallSink &sink, bool &goesOn);

/// The bytes of the object or list of JSON at the beginning of a text, by its brackets alone; 0
/// where it is not whole.
size_t bracketedSize(Slice text);
/// Whether text may be the name of a tool: short, and without space and brackets.
bool isToolName(Slice text);
/// Whether text is one object of JSON, and nothing else.
bool isJsonObject(Slice text);

} // namespace attn
