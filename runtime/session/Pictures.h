// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pictures of a prompt: an entry sees each, and its rows stand in the prompt as tokens do.
#pragma once

#include "attn/text.h"
#include "base/Slice.h"
#include "run/Generation.h"
#include "run/PictureGrid.h"

namespace attn {

/// What a position of a prompt is of.
struct PromptPlace {
  int32_t row;         ///< of the rows of all pictures; -1: a token of text
  int32_t at[3];       ///< the position by time, by row, by column
  int32_t first, last; ///< the positions of its picture; of text its own
};

/// The pictures that a prompt may name, in their order. What it refers to outlives it.
class Pictures {
public:
  Pictures(attn_context &context, const attn_tokenizer &tokenizer, int32_t entry)
      : context(context), tables(*context.model->tables), tokenizer(tokenizer),
        entry(tables.entries[entry]), image(find()) {}
  Pictures(const Pictures &) = delete;
  Pictures &operator=(const Pictures &) = delete;
  ~Pictures();

  /// Whether the entry that generates takes rows of pictures, and another one gives some.
  bool areTaken() const { return image != nullptr; }
  /// Whether an input of the entry that generates is one that pictures give.
  bool gives(const attn_abi_tensor &input) const;
  /// Decodes a picture, which is behind those before.
  attn_status add(const char *path, Error &error);
  /// Forgets all.
  void clear();
  /// How many there are.
  size_t count() const { return pictures.size(); }

  /// Whether texts with these pictures are put together without what a tokenizer puts around them.
  bool areFramed() const { return image && image->begin && !pictures.empty(); }
  /// Whether a prompt's rows see what is behind them, so that none may be kept for another prompt.
  bool areSeenWhole() const;
  /// Puts what the pictures become in the places of their marks, which begin the text where it has
  /// none. With `isPrompt`, not a turn of a chat, it gets what is put behind pictures and prompts.
  attn_status expand(Slice text, bool isPrompt, Vector<char> &expanded, Error &error) const;
  /// Finds the rows among the tokens of such a text.
  attn_status place(const attn_tokens &tokens, Error &error);
  /// Lets the entry see what it has not seen.
  attn_status see(Error &error);
  /// Prepares what `bind` gives, of a prompt without its first `held` tokens. False where memory is
  /// lacking.
  bool prepare(int64_t held);
  /// Fills in an input of the entry that generates, one that pictures give.
  void bind(const attn_abi_tensor &input, attn_tensor &tensor);

private:
  /// A picture, what the entry has made of it, and where its rows begin.
  struct Picture {
    attn_picture pixels;
    int64_t rows, firstRow;
    bool isSeen;
  };
  /// How a picture becomes the input of an entry that gives `seen`; null where there is none, or
  /// the entry that generates does not take it.
  const attn_abi_image *find() const;
  /// The inputs of the entry that sees, for one picture, whose places are in `grid`.
  bool bindSeeing(const Picture &picture, Vector<attn_tensor> &inputs, PictureGrid &grid) const;
  /// How many numbers a row has.
  size_t rowSize() const;
  /// Which result of the entry that sees has the rows.
  int32_t seenResult() const;
  /// The text of one picture.
  bool appendShown(const Picture &picture, Vector<char> &to) const;
  /// The same where something stands between lines of its rows.
  bool appendLines(const Picture &picture, Vector<char> &to) const;
  attn_status see(Picture &picture, Error &error);
  /// The place of a token of a picture, `row` of its rows, which begins at `begin`.
  PromptPlace placeOf(const Picture &picture, int64_t row, int64_t begin, int64_t position) const;

  attn_context &context;
  const attn_abi_model &tables;
  const attn_tokenizer &tokenizer;
  const attn_abi_entry &entry; ///< that generates
  const attn_abi_image *image;
  Vector<Picture> pictures;
  Vector<float> seen;         ///< [rows of all pictures, ...]
  Vector<float> blank;        ///< a row, which an entry takes where there is no picture
  Vector<PromptPlace> places; ///< of each token of the prompt
  int64_t next = 0;           ///< the position behind the prompt
  // Of a call: [count], [3, count], [count], [count].
  Vector<int32_t> picked, at, since, until;
  int32_t behind = 0, final = 0; ///< of all: [1]
};

} // namespace attn
