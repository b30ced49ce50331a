// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn tokenize`: what a tokenizer makes of a text, and of tokens.
#include "Verbs.h"
#include "attn/text.h"
#include "base/Text.h"
#include "compiler/import/checkpoint/Folder.h"
#include "compiler/support/Printable.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

/// Prints a message of the runtime, and frees it.
static int failWith(attn_status status, char *message) {
  int code =
      failWithMessage(status == ATTN_IO || status == ATTN_OUT_OF_MEMORY ? Environment : BadInput,
                      message ? message : "error[R0401]: no memory");
  attn_message_free(message);
  return code;
}

/// A line for each token: its id, the bytes of the text that it stands for, itself.
static void printTokens(const attn_tokenizer *tokenizer, const attn_tokens &tokens) {
  for (int64_t i = 0; i < tokens.count; ++i) {
    size_t size;
    const char *token = attn_tokenizer_token(tokenizer, tokens.ids[i], &size);
    Text quoted;
    quoted.appendQuoted(token, size);
    std::string range = tokens.origins[i] != ATTN_TOKEN_TEXT
                            ? "added"
                            : fmt::format("{}-{}", tokens.begins[i], tokens.ends[i]);
    outs() << fmt::format("{:>8}  {:<13}  ", tokens.ids[i], range) << '"' << quoted.c_str()
           << "\"\n";
  }
}

static int encode(const attn_tokenizer *tokenizer, StringRef text, const opt::InputArgList &args) {
  attn_tokens tokens = {};
  char *message = nullptr;
  int32_t flags = args.hasArg(OPT_no_special) ? 0 : ATTN_TEXT_ADD_SPECIAL;
  if (attn_status status =
          attn_tokenizer_encode(tokenizer, text.data(), text.size(), flags, &tokens, &message))
    return failWith(status, message);
  if (args.hasArg(OPT_ids)) {
    interleave(ArrayRef(tokens.ids, size_t(tokens.count)), outs(), " ");
    outs() << '\n';
  } else {
    printTokens(tokenizer, tokens);
  }
  attn_tokens_free(&tokens);
  return Ok;
}

static int decode(const attn_tokenizer *tokenizer, StringRef text, const opt::InputArgList &args) {
  SmallVector<int32_t> ids;
  while (true) {
    text = text.ltrim(" \t\r\n,");
    if (text.empty())
      break;
    StringRef word = text.take_until([](char c) { return StringRef(" \t\r\n,").contains(c); });
    std::optional<int64_t> id = parseNumber(word, 0, INT32_MAX);
    if (!id)
      return fail(BadInput, "`" + word.take_front(40) + "` is no id",
                  "--decode takes numbers with spaces or commas between them");
    ids.push_back(int32_t(*id));
    text = text.drop_front(word.size());
  }
  char *decoded = nullptr, *message = nullptr;
  size_t size = 0;
  if (attn_status status =
          attn_tokenizer_decode(tokenizer, ids.data(), int64_t(ids.size()),
                                args.hasArg(OPT_no_special), &decoded, &size, &message))
    return failWith(status, message);
  // A file takes all bytes; a terminal would obey some.
  std::string written(decoded, size);
  outs() << (sys::Process::StandardOutIsDisplayed() ? printable(written) : written) << '\n';
  attn_message_free(decoded);
  return Ok;
}

void noteTokenizer(StringRef path) {
  for (const std::string &text : importer::notesOfTokenizer(path))
    note(text);
}

int runTokenize(const opt::InputArgList &args) {
  std::vector<std::string> words = allFiles(args);
  StringRef file = args.getLastArgValue(OPT_file);
  if (words.empty())
    return fail(Usage, "expected a tokenizer", "a file such as tokenizer.json, or a folder");
  if (words.size() > 2)
    return fail(Usage, "expected one text, but got " + Twine(words.size() - 1),
                "put it into quotes");
  if ((words.size() == 2) != file.empty())
    return fail(Usage, file.empty() ? "expected a text, or `--file FILE`"
                                    : "expected a text or `--file`, but got both");
  if (args.hasArg(OPT_decode) && args.hasArg(OPT_ids))
    return fail(Usage, "`--ids` and `--decode` exclude each other");
  std::unique_ptr<MemoryBuffer> buffer;
  if (!file.empty() && !(buffer = readInput(file, size_t(1) << 30)))
    return Environment;
  attn_tokenizer *tokenizer = nullptr;
  char *message = nullptr;
  if (attn_status status = attn_tokenizer_open(words[0].c_str(), &tokenizer, &message))
    return failWith(status, message);
  scope_exit destroy([&] { attn_tokenizer_destroy(tokenizer); });
  noteTokenizer(words[0]);
  StringRef text = buffer ? buffer->getBuffer() : StringRef(words[1]);
  return args.hasArg(OPT_decode) ? decode(tokenizer, text, args) : encode(tokenizer, text, args);
}

} // namespace attn::tool
