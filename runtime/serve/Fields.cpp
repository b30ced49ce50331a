// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of JSON to where a table of fields says.
#include "serve/Fields.h"

#include <cstdlib>

namespace attn {

/// A reader of the body that begins at a place in it.
static JsonReader readerAt(const Exchange &exchange, size_t begin) {
  return {exchange.body.data() + begin, exchange.bodySize - begin};
}

static bool failNoJson(Exchange &exchange, const JsonReader &reader, size_t begin) {
  exchange.fail(400, "the body is no JSON: %s at byte %zu",
                reader.problem ? reader.problem : "something follows its end",
                begin + reader.position);
  return false;
}

/// Reads the value of a field; false where it is of another kind, which `expected` then names.
static bool readField(JsonReader &reader, const Field &field, const char *text, size_t begin,
                      const char *&expected) {
  char first = reader.peek();
  size_t place = reader.position;
  switch (field.kind) {
  case Field::String:
    expected = "a string";
    return first == '"' && reader.readString(*static_cast<Vector<char> *>(field.value));
  case Field::Number:
    expected = "a number";
    if (!(first == '-' || (first >= '0' && first <= '9')) || !reader.skipNumber())
      return false;
    *static_cast<double *>(field.value) = strtod(text + place, nullptr);
    return true;
  case Field::Whole:
    expected = "a whole number of at least 0";
    return first >= '0' && first <= '9' && reader.readSize(*static_cast<int64_t *>(field.value));
  case Field::Truth:
    expected = "true or false";
    if (!reader.skipWord(first == 't' ? "true" : "false"))
      return false;
    *static_cast<bool *>(field.value) = first == 't';
    return true;
  case Field::Place:
    *static_cast<size_t *>(field.value) = begin + place;
    return reader.skipValue();
  case Field::Only:
    expected = field.only;
    if (!reader.skipValue())
      return false;
    if ((first == '-' || (first >= '0' && first <= '9')) && strchr("0123456789", *field.only))
      return strtod(text + place, nullptr) == strtod(field.only, nullptr); // 0.0 is 0, too
    return reader.position - place == strlen(field.only) &&
           memcmp(text + place, field.only, reader.position - place) == 0;
  case Field::Ignored:
    return reader.skipValue();
  }
  return false;
}

bool readFields(Exchange &exchange, size_t begin, const char *what, const Field *fields,
                size_t count) {
  JsonReader reader = readerAt(exchange, begin);
  const char *text = exchange.body.data() + begin;
  Vector<char> key;
  if (reader.peek() != '{' || !reader.enterObject()) {
    exchange.fail(400, "%s is no JSON object", what);
    return false;
  }
  while (reader.nextKey(key)) {
    const Field *field = nullptr;
    for (size_t i = 0; i < count && !field; ++i)
      if (strcmp(fields[i].name, key.data()) == 0)
        field = &fields[i];
    if (!field) {
      Text known;
      for (size_t i = 0; i < count; ++i)
        if (fields[i].kind != Field::Only && fields[i].kind != Field::Ignored)
          known.append(known.size() ? ", %s" : "%s", fields[i].name);
      exchange.fail(400, "%s has no field `%.64s`: it has %s", what, key.data(), known.c_str());
      return false;
    }
    if (reader.peek() == 'n' && reader.skipWord("null"))
      continue;
    const char *expected = nullptr;
    if (reader.isGood() && readField(reader, *field, text, begin, expected)) {
      if (field->isGiven)
        *field->isGiven = true;
      continue;
    }
    // A value of another kind, not a broken one.
    JsonReader again = readerAt(exchange, begin);
    if (expected && again.skipValue()) {
      exchange.fail(400, field->kind == Field::Only ? "`%s` may only be %s here" : "`%s` is not %s",
                    field->name, expected);
      return false;
    }
    return failNoJson(exchange, reader, begin);
  }
  return (reader.isGood() && (begin > 0 || reader.atEnd())) || failNoJson(exchange, reader, begin);
}

bool forEachElement(Exchange &exchange, size_t begin, bool (*take)(void *user, size_t place),
                    void *user) {
  JsonReader reader = readerAt(exchange, begin);
  if (reader.peek() != '[')
    return take(user, begin);
  reader.enterArray();
  while (reader.nextElement()) {
    reader.peek();
    size_t place = reader.position;
    if (!reader.skipValue())
      break;
    if (!take(user, begin + place))
      return false;
  }
  return reader.isGood() || failNoJson(exchange, reader, begin);
}

bool readText(Exchange &exchange, size_t begin, const char *what, Vector<char> &bytes) {
  JsonReader reader = readerAt(exchange, begin);
  if (reader.peek() != '"') {
    exchange.fail(400, "%s is no string", what);
    return false;
  }
  return reader.appendString(bytes) || failNoJson(exchange, reader, begin);
}

void appendQuoted(Slice text, Text &out) {
  Vector<char> quoted;
  if (appendJsonString(text.data ? text : Slice("", 0), quoted))
    out.append("%.*s", int(quoted.size()), quoted.data());
  else
    out.fail();
}

} // namespace attn
