// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tokenizer: its components in the order in which a text goes through them.
#pragma once

#include "attn/text.h"
#include "text/steps/AddedTokens.h"
#include "text/steps/Decoder.h"
#include "text/steps/PostProcessor.h"
#include "text/steps/PreTokenizer.h"
#include "text/steps/TokenModel.h"

namespace attn {

/// What is cut off a long text.
struct Truncation {
  int64_t length = 0; ///< tokens that are left, special ones included; 0: all
  bool isLeft = false;
  enum { LongestFirst, OnlyFirst, OnlySecond } strategy = LongestFirst;
};

/// What a short text is filled with.
struct Padding {
  int64_t length = 0;   ///< tokens; 0: as many as there are
  int64_t multiple = 0; ///< of which the length becomes one
  bool isLeft = false;
  int32_t id = 0, type = 0;
};

/// A tokenizer; read-only, and shared by threads, once it has been opened.
class Tokenizer {
public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;
  ~Tokenizer();

  /// Reads a file, or a folder with one, of any kind that is known.
  attn_status openPath(const char *path, Error &error);
  /// The same from bytes; `name` is what errors call them.
  attn_status openMemory(const char *name, Slice bytes, Error &error);
  /// The same, but for what comes last, which may be changed meanwhile.
  attn_status readMemory(const char *name, Slice bytes, Error &error);

  /// Encodes a text, or, where `second` is not null, two; `flags` are those of the C interface.
  attn_status encode(Slice text, const Slice *second, int32_t flags, Encoding &encoding,
                     Error &error) const;
  /// Appends the text of ids. Bytes that are not UTF-8 become U+FFFD where `isLossy`.
  attn_status decode(const int32_t *ids, size_t count, bool skipsSpecial, bool isLossy,
                     Vector<char> &text, Error &error) const;
  /// Whether a token stands for nothing that is written in a frame.
  bool isBlank(int32_t id) const {
    return collapses && blank.data && id >= 0 && token(id).data && token(id) == blank;
  }
  /// The bytes of a token as the vocabulary has them; null data where there is none.
  Slice token(int64_t id) const;
  int32_t find(Slice token) const;
  /// One more than the largest id.
  size_t size() const;

  Arena strings;
  Vector<Pattern> regexes;
  Vector<Normalizer> normalizers;
  AddedTokens added;
  Vector<PreTokenizer> preTokenizers;
  Model model;
  Vocabulary numbers;  ///< of Marian: the ids that tokens go out with, where not the model's
  ByteTrie userPieces; ///< of SentencePiece: those that normalizing leaves alone
  PostProcessors postProcessors;
  Vector<Decoder> decoders;
  bool hasDecoder = false;    ///< without one, tokens are joined with spaces
  bool splitsSpecial = false; ///< special tokens are text where a text has them
  bool cleansUp = false;      ///< the decoder takes spaces before punctuation away
  Slice unknownText;          ///< what the unknown token is decoded to, where not itself
  bool collapses = false;     ///< decodes tokens of frames: neighbours that are the same are one
  Slice blank;                ///< the token of a frame in which nothing is written; null: none
  Truncation truncation;
  Padding padding;

private:
  /// The last step of opening: makes the tables of added tokens.
  attn_status finish(const char *name, Error &error);
  /// The id that a token of the model goes out with; `text` is what it stands for.
  int32_t outerId(int32_t id, Slice text) const;
  /// The text with what is done before the model: cut into words and added tokens.
  bool prepare(Slice text, bool areSpecialText, Pieces &pieces, Growth &growth) const;
  /// The tokens of one text, without those that are put around it.
  Outcome encodeText(Slice text, int32_t flags, Encoding &encoding, Growth &growth) const;
  /// Cuts texts to the length; false where the one to be cut is too short for it.
  bool truncate(Encoding *texts, bool isPair, size_t added) const;
  /// Fills up to the length; false where memory is lacking.
  bool pad(Encoding &encoding) const;
};

/// Gives the tokens of a model that has been read the numbers of a Marian folder's vocab.json, and
/// its special tokens.
attn_status readMarianNumbers(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error);

/// The readers of each kind of file. They fill an empty tokenizer.
attn_status readTokenizerJson(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error);
/// `settings` of a folder, or null: BERT's, in lower case where no token has a capital letter.
attn_status readVocabularyText(const char *name, Slice bytes, const struct TextSettings *settings,
                               Tokenizer &tokenizer, Error &error);
/// `hasControls`: its control pieces are special tokens.
attn_status readSentencePiece(const char *name, Slice bytes, bool hasControls, Tokenizer &tokenizer,
                              Error &error);
attn_status readTiktoken(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error);
attn_status readLlama2(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error);
/// Of a GGUF file the metadata alone have to be there. `isCut` becomes true where the bytes end
/// within these.
attn_status readGguf(const char *name, Slice bytes, Tokenizer &tokenizer, bool &isCut,
                     Error &error);

/// Whether a file looks like one of these kinds.
bool looksLikeTiktoken(Slice bytes);
bool looksLikeLlama2(Slice bytes);

/// Expressions by which tokenizers are known to cut texts.
extern const char llama3Expression[], qwen2Expression[], cl100kExpression[], o200kExpression[],
    tekkenExpression[];

/// BERT's components around a vocabulary of WordPiece; its special tokens are found by their names.
bool finishBert(ComponentReader &reader, Tokenizer &tokenizer, bool isCased);
/// The steps that cut a text as BERT does; false where memory is lacking.
bool addBertCutting(Tokenizer &tokenizer);
/// What SentencePiece does with a vocabulary that has scores and types: its normalizer, with the
/// settings given, and its model.
bool finishSentencePiece(ComponentReader &reader, Tokenizer &tokenizer, Normalizer normalizer);
/// Makes SentencePiece's control pieces special tokens, which no text has.
bool addControls(ComponentReader &reader, Tokenizer &tokenizer);
/// Adds the steps of a decoder that SentencePiece's pieces need.
bool addPieceDecoders(ComponentReader &reader, Tokenizer &tokenizer, const Normalizer &normalizer);
/// Adds a token that is looked for in texts as it is.
bool addLiteral(ComponentReader &reader, Tokenizer &tokenizer, int32_t id, Slice content,
                bool isSpecial);

/// Appends all that a tokenizer is made of, as `openMemory` takes it: the bytes of a file, or the
/// files of a folder. ATTN_NOT_FOUND where a folder has none.
attn_status packTokenizer(const char *path, Vector<char> &bytes, Error &error);

} // namespace attn
