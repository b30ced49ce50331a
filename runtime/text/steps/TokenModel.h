// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models: they make tokens of a word. BPE, WordPiece, Unigram, WordLevel.
#pragma once

#include "text/steps/ComponentReader.h"
#include "text/steps/Vocabulary.h"

namespace attn {

/// A token, and the bytes of its word, or text, that it stands for.
struct Token {
  int32_t id = -1;
  uint32_t begin = 0, end = 0;
};

/// What becomes of a token of SentencePiece besides being looked for.
enum class TokenType : uint8_t { Normal, Unknown, Control, UserDefined, Unused, Byte };

/// A model with its vocabulary.
struct Model {
  /// The algorithm.
  enum Kind { Bpe, WordPiece, Unigram, WordLevel };
  Kind kind = Bpe;
  Vocabulary vocabulary;
  int32_t unknown = -1; ///< the token for what has none, or -1
  bool fallsBackToBytes = false;
  int32_t byteTokens[256]; ///< ids of <0x00> and so on, -1 where there is none

  // BPE.
  PairTable merges;           ///< by ids; empty where `ranks` are given
  Vector<uint32_t> ranks;     ///< of the token that two symbols make, UINT32_MAX: never made
  bool ignoresMerges = false; ///< a word that is a token is taken whole
  bool fusesUnknown = false;  ///< neighbours that have no token become one
  bool isOfBytes = false;     ///< begins with bytes, not characters
  Slice prefix, suffix;       ///< of symbols but the first; of the last one

  // WordPiece, with `prefix`.
  size_t longestWord = 100; ///< in characters

  // Unigram, and SentencePiece's BPE.
  Vector<double> scores;
  Vector<TokenType> types; ///< empty: all are normal
  ByteTrie trie;           ///< Unigram: of all pieces; SentencePiece's BPE: of the user's
  double unknownScore = 0, largestScore = 0;
  bool isSinglePrecision = false; ///< adds scores as SentencePiece does
};

/// Memory that encoding reuses from word to word.
struct ModelScratch {
  /// A symbol of BPE: bytes of the word, and its neighbours.
  struct Symbol {
    uint32_t begin, end;
    int32_t id, previous, next;
    bool isWhole; ///< takes part in no merge
  };
  /// Two symbols that may become one.
  struct Candidate {
    uint32_t rank;
    int32_t left, right, id;
    uint32_t size;
  };
  /// The best way to a place of Unigram's lattice.
  struct Node {
    double score;
    int32_t id, begin;
  };
  Vector<Symbol> symbols;
  Vector<Candidate> heap;
  Vector<Node> lattice;
  Vector<char> bytes;
};

/// What came of a word; of a text, too, of which a step may have made too much.
enum class Outcome { Good, NoMemory, NoToken, TooMuch };

/// Appends the tokens of a word, which is not empty, with bytes counted from its beginning.
/// NoToken: a part of it has no token and the model no unknown one.
Outcome encodeWord(const Model &model, Slice word, ModelScratch &scratch, Vector<Token> &tokens);

/// The models' own parts of `encodeWord`.
Outcome encodeBpe(const Model &model, Slice word, ModelScratch &scratch, Vector<Token> &tokens);
Outcome encodeUnigram(const Model &model, Slice word, ModelScratch &scratch, Vector<Token> &tokens);

/// Fills `byteTokens` from the vocabulary; whether all are there.
bool findByteTokens(Model &model);

/// Reads tokens with their ids, {"token": id}.
bool readVocabularyObject(ComponentReader &reader, JsonValue object, Vocabulary &vocabulary);

/// Reads the `model` of a tokenizer.json.
bool readModel(ComponentReader &reader, JsonValue value, Model &model);

/// Makes the trie and the score of the unknown token from a vocabulary with scores.
bool finishUnigram(Model &model);

/// Gives ranks to tokens by their scores, the largest first: SentencePiece's BPE.
bool rankByScores(Model &model);

/// Adds a merge of two tokens, given by their bytes. `missing` becomes what the vocabulary lacks,
/// empty where memory was lacking.
bool addMerge(Model &model, Slice left, Slice right, uint32_t rank, Vector<char> &missing);

} // namespace attn
