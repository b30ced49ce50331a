// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --lines: a file of JSON objects, one in a line, each an input with an id, to a row of results for
// each of them.
#pragma once

#include "base/Slice.h"
#include "main/Prompt.h"

namespace attn {

/// What stands in a line's object.
struct LineFields {
  Vector<char> text, pair; ///< of the field that is asked for, and of that one with `_pair`
  bool hasPair = false;
};

/// A line, and what becomes of it.
struct Line {
  Slice source;
  int64_t number = 0;           ///< from 1 on
  Slice id;                     ///< JSON as it stands in the line; empty: its number
  int64_t length = 0;           ///< lines of one length run together; -1: it is an error
  void *owned = nullptr;        ///< what LineWork::read has kept for LineWork::make
  attn_status status = ATTN_OK; ///< ATTN_BAD_INPUT and ATTN_IO are errors of the line alone
  char *message = nullptr;      ///< what is wrong, for attn_message_free
  char *members = nullptr;      ///< what follows the id in its object: `, "text": "..."`; for free
  float *vector = nullptr;      ///< where its vector goes, if it has one

  /// Reads the object and its fields `field` and `field`_pair, which are strings.
  attn_status read(const char *field, LineFields &fields, Error &error);
  /// Sets `members`; false where memory is lacking.
  bool keep(Slice json);
  /// Appends the row of results: the id, then the error or the members and, in the row, a vector of
  /// `width` floats. False where memory is lacking.
  bool appendResult(int64_t width, Vector<char> &to) const;
  /// Appends its vector of `width` floats as a member: `, "vector": [...]`. False as there.
  bool appendVector(int64_t width, Vector<char> &to) const;
};

/// How lines become results. Functions are called by several threads, each with lines and a
/// context of its own.
struct LineWork {
  void *self = nullptr;
  int64_t width = 0;              ///< floats of a line's vector; 0: results are JSON alone
  int64_t window = 0;             ///< lines that are read, ordered by length and written together
  int64_t most = 1;               ///< lines of one length that run together at most
  int64_t mostLength = INT64_MAX; ///< their lengths together at most, where there are several
  /// Reads a line, as far as that needs no model, and sets its length.
  attn_status (*read)(void *self, Line &line, Error &error) = nullptr;
  /// Frees what `read` has kept; null where it keeps nothing.
  void (*release)(void *owned) = nullptr;
  /// Makes the results of `count` lines of one length.
  attn_status (*make)(void *self, attn_context &context, Line *const *lines, int64_t count,
                      Error &error) = nullptr;
};

/// Does the job: reads the lines of this process's shard, writes FOLDER/results.jsonl and, of
/// vectors, FOLDER/vectors.npy, or one FILE.jsonl with both, in the order of the lines. What is
/// wrong with a line becomes its result; at the end such lines are ATTN_BAD_INPUT.
attn_status runLines(const PromptRun &run, const LineWork &work, Error &error);

/// A row of scores as members of a line's object: the most probable labels, each with its score.
/// ATTN_BAD_INPUT where a score is no number.
attn_status keepLabels(Line &line, const attn_tensor &scores, int64_t row, const Labels &labels,
                       Error &error);

/// --lines of an entry that takes one picture and generates nothing.
attn_status runPictureLines(const PromptRun &run, Error &error);

} // namespace attn
