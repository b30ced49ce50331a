// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text in, text out: a prompt becomes tokens, and the tokens of an entry that generates become text
// as they are chosen.
#pragma once

#include "attn/grammar.h"
#include "attn/schedule.h"
#include "run/Generation.h"
#include "session/Pictures.h"
#include "session/StopTexts.h"

namespace attn {

/// A context, its entry and a tokenizer; it knows which tokens the caches hold. What it refers to
/// outlives it.
class TextSession {
public:
  TextSession(attn_context &context, const attn_tokenizer &tokenizer, int32_t entry)
      : context(context), tokenizer(tokenizer), entryIndex(entry),
        entry(context.model->tables->entries[entry]), pictures(context, tokenizer, entry) {}
  TextSession(const TextSession &) = delete;
  TextSession &operator=(const TextSession &) = delete;
  ~TextSession();

  /// Whether the entry takes a text and nothing else.
  attn_status check(Error &error) const;
  /// Adds a picture to those that prompts from now on have in the places of their marks.
  attn_status addPicture(const char *path, Error &error) { return pictures.add(path, error); }
  /// Forgets the pictures.
  void clearPictures();
  /// Encodes what is gone on from, and checks its length.
  attn_status prompt(const char *text, size_t size, const attn_text_options &options, Error &error);
  /// The same of tokens.
  attn_status promptTokens(const int32_t *ids, int64_t count, const attn_text_options &options,
                           Error &error);
  /// Goes on from the prompt.
  attn_status generate(const attn_text_options &options, attn_text_result &result, Error &error);

  /// Goes on from prompts by requests of a scheduler, which lives longer; not any more with null.
  void schedule(attn_scheduler *shared) { scheduler = shared; }

  /// The model, and which of its entries generates.
  const attn_model &model() const { return *context.model; }
  /// The number of that entry.
  int32_t number() const { return entryIndex; }

private:
  /// The entry that takes the prompt, once it is known that the other one generates.
  const attn_abi_entry &firstEntry() const {
    return context.model->tables->entries[entry.unfold->first];
  }
  /// Positions that the caches which the first entry fills have; the largest number without any.
  int64_t capacity() const;
  /// Checks that the tokens of the prompt fit, or cuts them, and puts pictures into their places.
  attn_status fit(const attn_text_options &options, Error &error);
  /// Leaves tokens out behind the special ones in front, until there are `length`.
  void cut(int64_t length);
  /// How many of the prompt's tokens the caches hold already.
  int64_t heldTokens(const attn_generation &numbers) const;
  /// Keeps of the caches what the prompt begins with, and nothing else.
  attn_status keep(int64_t held, Error &error);
  /// Calls attn_generate for all of the prompt behind `held` tokens.
  attn_status run(attn_generation numbers, int64_t held, Error &error);
  /// The same by a request of the scheduler.
  attn_status runShared(const attn_generation &numbers, Error &error);
  attn_status finish(Error &error);
  /// What beams have found, which is settled at the end.
  void takeAll();
  /// Makes the decoding of a call, which leaves out special tokens that are not shown.
  attn_status beginText(Error &error);
  /// Takes a token that has been chosen; false where that is enough, or wrong.
  bool take(int32_t token);
  /// Takes a piece of text, and hands over what may be shown; false where that is enough, or wrong.
  bool show(const char *piece, size_t size);
  /// Lets the caller change scores, then leaves those of tokens that the grammar allows.
  void changeScores(float *scores, int64_t vocabulary);
  static void onScores(void *user, float *scores, int64_t rows, int64_t vocabulary);
  static int32_t onTokens(void *user, const int32_t *tokens, int64_t rows);

  attn_context &context;
  const attn_tokenizer &tokenizer;
  int32_t entryIndex;
  const attn_abi_entry &entry;
  Pictures pictures;
  attn_tokens tokens = {};
  Vector<int32_t> cached; ///< the tokens that the caches hold, in order
  attn_scheduler *scheduler = nullptr;

  /// What lasts as long as one call of `generate`.
  struct Call {
    Call(Call *&place, const attn_text_options &options, attn_text_result &result, Error &error)
        : place(place), options(options), result(result), error(error),
          stops(options.stops, options.stopCount) {
      place = this;
    }
    ~Call();

    Call *&place; ///< that knows of it
    const attn_text_options &options;
    attn_text_result &result;
    Error &error;
    StopTexts stops;
    attn_decoding *decoding = nullptr;
    Vector<int32_t> shown; ///< special tokens that are text
    Outputs outputs;
    /// Whether a token is special, and no part of the text.
    bool leavesOut(const attn_tokenizer &tokenizer, int32_t token) const;
    Vector<int32_t> chosen;
    double begin = 0;                 ///< seconds of a clock
    bool isWhole = false;             ///< whether nothing may follow, by the grammar
    Vector<uint64_t> allowed;         ///< tokens, by the grammar
    attn_status maskStatus = ATTN_OK; ///< of an error of the grammar
    char *maskMessage = nullptr;
  };
  Call *call = nullptr;
};

} // namespace attn
