// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line's object, and scores as members of its result.
#include "base/Dtype.h"
#include "base/Json.h"
#include "main/LineJob.h"
#include <cmath>
#include <cstdio>

using namespace attn;

attn_status Line::read(const char *field, LineFields &fields, Error &error) {
  JsonReader json(source.data, source.size);
  Vector<char> key;
  size_t length = strlen(field);
  bool hasText = false;
  const char *wrong = nullptr;
  json.enterObject();
  while (json.nextKey(key)) {
    char kind = json.peek(); // behind white space
    size_t begin = json.position;
    bool isField = strncmp(key.data(), field, length) == 0 && key[length] == '\0',
         isPair =
             strncmp(key.data(), field, length) == 0 && strcmp(key.data() + length, "_pair") == 0,
         isId = strcmp(key.data(), "id") == 0;
    if ((isField || isPair) && kind == '"') {
      Vector<char> &to = isField ? fields.text : fields.pair;
      to.clear();
      json.appendString(to);
      (isField ? hasText : fields.hasPair) = true;
      continue;
    }
    json.skipValue();
    if (isField || isPair)
      wrong = isField ? "" : "_pair";
    if (!isId || !json.isGood())
      continue;
    id = kind == '"' || kind == '-' || (kind >= '0' && kind <= '9')
             ? source.between(begin, json.position)
             : Slice();
    if (!id.size)
      wrong = "id";
  }
  if (json.isGood() && !json.atEnd())
    json.fail("more behind the object");
  if (!json.isGood()) {
    id = Slice();
    error.set(ATTN_BAD_INPUT, "R0217", "it is no JSON: %s, in column %zu", json.problem,
              json.position + 1);
  } else if (wrong && strcmp(wrong, "id") == 0) {
    error.set(ATTN_BAD_INPUT, "R0217", "its `id` is neither a string nor a number");
  } else if (wrong) {
    error.set(ATTN_BAD_INPUT, "R0217", "its `%s%s` is no string", field, wrong);
  } else if (!hasText) {
    error.set(ATTN_BAD_INPUT, "R0217", "it has no `%s`", field);
  }
  if (error.status)
    error.help("each line is an object: {\"id\": 1, \"%s\": \"...\"}", field);
  return error.status;
}

bool Line::keep(Slice json) {
  free(members);
  members = static_cast<char *>(malloc(json.size + 1));
  if (!members)
    return false;
  memcpy(members, json.data, json.size);
  members[json.size] = '\0';
  return true;
}

bool Line::appendResult(int64_t width, Vector<char> &to) const {
  Text begin;
  begin.append("{\"id\": ");
  if (id.size)
    begin.append("%.*s", int(id.size), id.data);
  else
    begin.append("%lld", static_cast<long long>(number));
  bool isGood = !begin.failed() && to.append(begin.c_str(), begin.size());
  if (status) {
    // "error[R0217]: it has no `text`\n   = help: ..."
    const char *what = message ? message : "";
    const char *colon = strstr(what, "]: ");
    what = colon ? colon + 3 : what;
    Text said;
    said.append("line %lld: ", static_cast<long long>(number));
    said.append("%.*s", int(strcspn(what, "\n")), what);
    isGood =
        isGood && append(to, Slice(", \"error\": ")) && appendJsonString(Slice(said.c_str()), to);
  } else if (members) {
    isGood = isGood && append(to, Slice(members));
  }
  return isGood && (status || width == 0 || appendVector(width, to)) && append(to, Slice("}\n"));
}

bool Line::appendVector(int64_t width, Vector<char> &to) const {
  bool isGood = append(to, Slice(", \"vector\": ["));
  for (int64_t i = 0; isGood && i < width; ++i) {
    char value[40];
    snprintf(value, sizeof value, i ? ", %.9g" : "%.9g", double(vector[i]));
    isGood = append(to, Slice(value));
  }
  return isGood && to.push(']');
}

attn_status attn::keepLabels(Line &line, const attn_tensor &scores, int64_t row,
                             const Labels &labels, Error &error) {
  RankedLabel best[mostRanked];
  int count = rankLabels(scores, row * labels.size(), labels, best);
  Vector<char> json;
  bool isGood = append(json, Slice(", \"labels\": ["));
  for (int i = 0; i < count && isGood; ++i) {
    if (!std::isfinite(best[i].value))
      return error.set(ATTN_BAD_INPUT, "R0209", "a score of label `%s` is no number",
                       labels.name(best[i].number));
    isGood = (i == 0 || append(json, Slice(", "))) &&
             appendJsonString(Slice(labels.name(best[i].number)), json);
  }
  isGood = isGood && append(json, Slice("], \"scores\": ["));
  for (int i = 0; i < count && isGood; ++i) {
    char number[40];
    snprintf(number, sizeof number, i ? ", %.9g" : "%.9g", best[i].value);
    isGood = append(json, Slice(number));
  }
  return isGood && json.push(']') && line.keep(Slice(json)) ? ATTN_OK : error.outOfMemory("labels");
}
