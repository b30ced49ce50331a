// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts between boundaries, each with headers of its own.
#include "serve/Multipart.h"

#include <strings.h>

namespace attn {

/// Fields of a form at most.
static constexpr size_t mostFields = 64;

/// The value of `key="..."` in a header; null data where there is none.
static Slice parameterOf(Slice header, const char *key) {
  for (size_t at = 0; at + strlen(key) < header.size; ++at) {
    bool begins = at > 0 && (header.data[at - 1] == ' ' || header.data[at - 1] == ';') &&
                  header.from(at).startsWith(Slice(key));
    Slice rest = header.from(at + (begins ? strlen(key) : 0));
    if (!begins || !rest.startsWith(Slice("=")))
      continue;
    rest = rest.from(1);
    bool isQuoted = rest.startsWith(Slice("\""));
    rest = rest.from(isQuoted);
    size_t size = 0;
    while (size < rest.size && rest.data[size] != (isQuoted ? '"' : ';'))
      ++size;
    return rest.between(0, size);
  }
  return Slice();
}

/// Takes the headers of a part away; false where they have no end.
static bool takeHeaders(Slice &part, FormField &field) {
  while (part.size) {
    if (!memchr(part.data, '\n', part.size))
      return false;
    Slice line = part.takeLine();
    if (line.size == 0)
      return field.name.data != nullptr;
    static constexpr const char *wanted = "content-disposition:";
    if (line.size > strlen(wanted) && strncasecmp(line.data, wanted, strlen(wanted)) == 0) {
      field.name = parameterOf(line, "name");
      field.file = parameterOf(line, "filename");
    }
  }
  return false;
}

bool readForm(Exchange &exchange, Vector<FormField> &fields) {
  Slice rest(exchange.body.data(), exchange.bodySize);
  auto fail = [&](const char *words) {
    exchange.fail(400, "the body is no form with a file (multipart/form-data): %s", words);
    return false;
  };
  if (!rest.startsWith(Slice("--")) || !memchr(rest.data, '\n', rest.size))
    return fail("it does not begin with a boundary");
  Slice line = rest.takeLine();
  // Between two parts the line's end belongs to the boundary (RFC 2046, 5.1.1).
  Vector<char> boundary;
  if (!append(boundary, Slice("\r\n")) || !append(boundary, line))
    return exchange.failWithoutMemory();
  if (line.size < 3 || line.size > 200)
    return fail("its boundary is too short or too long");
  for (;;) {
    auto *end =
        static_cast<const char *>(memmem(rest.data, rest.size, boundary.data(), boundary.size()));
    if (!end)
      return fail("it has no last boundary");
    FormField field;
    Slice part = rest.between(0, size_t(end - rest.data));
    if (!takeHeaders(part, field))
      return fail("a part has no name");
    field.value = part;
    if (fields.size() == mostFields)
      return fail("it has more than 64 fields");
    if (!fields.push(field))
      return exchange.failWithoutMemory();
    rest = rest.from(size_t(end - rest.data) + boundary.size());
    if (rest.startsWith(Slice("--")))
      return true;
    if (!rest.startsWith(Slice("\r\n")))
      return fail("something follows a boundary");
    rest = rest.from(2);
  }
}

} // namespace attn
