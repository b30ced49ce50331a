// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms that answers are asked for: grammars of a model's vocabulary, which requests share.
#pragma once

#include "attn/grammar.h"
#include "base/Slice.h"
#include "serve/Exchange.h"
#include <pthread.h>

namespace attn {

/// The form that a request asks for: `response_format`, or a grammar.
struct AnswerForm {
  int32_t kind = -1; ///< of a grammar (attn/grammar.h); -1: any text
  Vector<char> text; ///< the grammar's
};

/// Reads `response_format`, or the `format` of /v1/responses, which is `isFlat`; false, with an
/// error, where it is none.
bool readAnswerForm(Exchange &exchange, size_t place, bool isFlat, AnswerForm &form);

/// The grammars of one model that have been asked for.
class Grammars {
public:
  Grammars() = default;
  Grammars(const Grammars &) = delete;
  Grammars &operator=(const Grammars &) = delete;
  ~Grammars();

  /// One of them; shared by requests, and kept for others.
  struct Kept {
    int32_t kind = -1;
    Vector<char> text;
    attn_grammar *grammar = nullptr;
    int64_t users = 0, used = 0;
    ~Kept() { attn_grammar_destroy(grammar); }
  };
  /// The grammar of a form, made where it is not there; `release` ends its use. The vocabulary is
  /// made first where it is not there, of a tokenizer, and of the stops of an entry that generates.
  /// Null with a message where what is asked for is no grammar, or memory is lacking.
  Kept *use(const attn_model *model, int32_t entry, const attn_tokenizer *tokenizer,
            const AnswerForm &form, attn_status &status, char **message);
  void release(Kept *kept); ///< null is allowed

private:
  /// The grammar of a form, which has one more user; null where there is none. Under the lock.
  Kept *find(const AnswerForm &form);
  /// Makes it, with one user; `made` is to be freed after an error, too.
  attn_status make(const AnswerForm &form, Kept *&made, char **message) const;
  /// Makes the vocabulary; under the lock.
  attn_status makeVocabulary(const attn_model *model, int32_t entry,
                             const attn_tokenizer *tokenizer, char **message);
  /// Frees the grammar that nobody has used for longest where there are too many; under the lock.
  void forgetOldest();

  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  attn_vocabulary *vocabulary = nullptr;
  Vector<Kept *> list;
  int64_t turn = 0;
};

/// The place of an answer in the grammar that it follows.
class FollowedForm {
public:
  FollowedForm() = default;
  FollowedForm(const FollowedForm &) = delete;
  FollowedForm &operator=(const FollowedForm &) = delete;
  ~FollowedForm();

  /// Begins an answer of this form, which is not any text. Errors as those of attn/grammar.h.
  attn_status begin(Grammars &grammars, const attn_model *model, int32_t entry,
                    const attn_tokenizer *tokenizer, const AnswerForm &form, char **message);
  attn_matcher *matcher() const { return made; } ///< null before

private:
  Grammars *grammars = nullptr;
  Grammars::Kept *kept = nullptr;
  attn_matcher *made = nullptr;
};

} // namespace attn
