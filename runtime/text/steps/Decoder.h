// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders: from tokens back to text.
#pragma once

#include "text/steps/ComponentReader.h"
#include "text/steps/Growth.h"

namespace attn {

/// Strings behind each other in one buffer.
struct Strings {
  Vector<char> bytes;
  Vector<size_t> ends;
  /// The string of a number.
  Slice at(size_t i) const {
    size_t begin = i ? ends[i - 1] : 0;
    return {bytes.data() + begin, ends[i] - begin};
  }
  size_t count() const { return ends.size(); }
  void clear() {
    bytes.clear();
    ends.clear();
  }
  /// Ends a string, whose bytes have been appended.
  bool finish() { return ends.push(bytes.size()); }
  bool push(Slice text) { return append(bytes, text) && finish(); }
  void swap(Strings &other) noexcept {
    bytes.swap(other.bytes);
    ends.swap(other.ends);
  }
};

/// One step; a Sequence is several.
struct Decoder {
  /// What the step does.
  enum Kind {
    ByteLevel,
    WordPiece,
    Metaspace,
    ByteFallback,
    Fuse,
    Strip,
    Replace,
    Bpe,
    Ctc,
    Lead,
    Delimiter, ///< a token that is `delimiter` becomes `content`
    Lowercase,
    CleanUp ///< as `clean_up_tokenization_spaces` says
  };
  Kind kind = Fuse;
  Pattern pattern; ///< of Replace
  Slice content;   ///< of Replace and Delimiter; of WordPiece the prefix, of Bpe the suffix, of
                   ///< Metaspace the character, of Ctc the pad token
  Slice delimiter; ///< of Ctc and Delimiter: between words
  bool cleansUp = false;      ///< of WordPiece and Ctc: spaces before punctuation go
  bool dropsFirst = true;     ///< of Metaspace: the character that begins the text goes
  bool isRepeated = false;    ///< of Lead: `content` goes from every token before the text begins
  size_t start = 0, stop = 0; ///< of Strip: how often `content` goes from both ends
};

/// Reads the component at `value`, which may be null, as steps.
bool readDecoder(ComponentReader &reader, JsonValue value, Vector<Decoder> &steps);

/// Takes all steps on the tokens in `strings`, in place. Bytes of tokens are not made valid UTF-8
/// yet; of ByteFallback they are where `isLossy`, as Hugging Face has it: U+FFFD for each byte of a
/// run that is not. False where memory is lacking, an expression failed or `growth` is spent.
bool decodeStrings(const Vector<Decoder> &steps, bool isLossy, Strings &strings, Strings &scratch,
                   Growth &growth);

/// How many bytes at the end of a text CleanUp may still change when more comes.
size_t openSpaces(Slice text);

} // namespace attn
