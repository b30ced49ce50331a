// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of a request's JSON object, by a table of them.
#pragma once

#include "base/Json.h"
#include "serve/Exchange.h"

namespace attn {

/// A field that a request may have. One that is null counts as absent.
struct Field {
  /// What values it may have, and where they go.
  enum Kind {
    String, ///< `value` is a Vector<char>, with a NUL behind what it holds
    Number, ///< a double
    Whole,  ///< an int64_t of 0 at least
    Truth,  ///< a bool
    Place,  ///< a size_t: where in the body the value begins
    Only,   ///< nothing but `only`: other values ask for what there is not
    Ignored ///< what changes no answer
  };
  const char *name;
  Kind kind;
  void *value = nullptr;
  const char *only = nullptr; ///< as JSON
  bool *isGiven = nullptr;    ///< becomes true where it is not null
};

/// Reads the object at `begin` of the body; what it is called in errors is `what`. False, with an
/// error of its own in the exchange, where it is no such object.
bool readFields(Exchange &exchange, size_t begin, const char *what, const Field *fields,
                size_t count);

/// Calls `take` with the place of each element of the array at `begin`, or with `begin` where that
/// is another value than an array. False where `take` is, or there is no JSON, with an error.
bool forEachElement(Exchange &exchange, size_t begin, bool (*take)(void *user, size_t place),
                    void *user);

/// Reads the string at `begin`, and appends it to `bytes`; false where it is none, or no memory is
/// left, with an error, which calls it `what`.
bool readText(Exchange &exchange, size_t begin, const char *what, Vector<char> &bytes);

/// Appends a text as a string of JSON, in quotes.
void appendQuoted(Slice text, Text &out);

} // namespace attn
