// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What says of requests which form an answer has, and grammars that are kept by their text.
#include "serve/Structure.h"
#include "base/Json.h"
#include "serve/Fields.h"

namespace attn {

//===-- requests ----------------------------------------------------------------------------===//

/// Takes over a value of JSON as it stands in the body.
static bool takeJson(Exchange &exchange, size_t place, Vector<char> &text) {
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  if (!reader.skipValue())
    return exchange.fail(400, "a schema is no JSON, or nested deeper than 32: %s", reader.problem),
           false;
  return text.append(exchange.body.data() + place, reader.position) || exchange.failWithoutMemory();
}

/// What stands around a schema: `name`, `description`, and `strict`, which is always so.
static bool readNamedSchema(Exchange &exchange, size_t place, AnswerForm &form) {
  size_t schema = 0;
  bool hasSchema = false;
  const Field fields[] = {{"name", Field::Ignored},
                          {"description", Field::Ignored},
                          {"strict", Field::Ignored},
                          {"schema", Field::Place, &schema, nullptr, &hasSchema}};
  if (!readFields(exchange, place, "`json_schema`", fields, sizeof fields / sizeof *fields))
    return false;
  if (!hasSchema)
    return exchange.fail(400, "`json_schema` has no `schema`"), false;
  return takeJson(exchange, schema, form.text);
}

bool readAnswerForm(Exchange &exchange, size_t place, bool isFlat, AnswerForm &form) {
  Vector<char> type, name;
  size_t named = 0, schema = 0;
  bool isNamed = false, hasSchema = false;
  // Flat, a schema stands beside its type; others have it so beside `json_object`.
  const Field fields[] = {
      {"type", Field::String, &type}, {"schema", Field::Place, &schema, nullptr, &hasSchema},
      {"name", Field::String, &name}, {"description", Field::Ignored},
      {"strict", Field::Ignored},     {"json_schema", Field::Place, &named, nullptr, &isNamed}};
  if (!readFields(exchange, place, isFlat ? "`format`" : "`response_format`", fields,
                  sizeof fields / sizeof *fields))
    return false;
  auto is = [&](const char *known) { return !type.empty() && strcmp(type.data(), known) == 0; };
  bool isSchema = is("json_schema"), isObject = is("json_object");
  if (!isSchema && !isObject && !is("text"))
    return exchange.fail(400,
                         "a format is of type `%.40s`, expected `text`, `json_object` or "
                         "`json_schema`",
                         type.empty() ? "" : type.data()),
           false;
  if (is("text") && (hasSchema || isNamed))
    return exchange.fail(400, "a format of type `text` has no schema"), false;
  if (isSchema && !isNamed && !hasSchema)
    return exchange.fail(400, isFlat ? "`format` has no `schema`"
                                     : "`response_format` has no `json_schema`"),
           false;
  form.kind = isSchema || hasSchema || isNamed ? ATTN_GRAMMAR_JSON_SCHEMA
              : isObject                       ? ATTN_GRAMMAR_JSON_OBJECT
                                               : -1;
  if (isNamed)
    return readNamedSchema(exchange, named, form);
  return !hasSchema || takeJson(exchange, schema, form.text);
}

//===-- grammars ----------------------------------------------------------------------------===//

/// So many grammars are kept that nobody uses.
static constexpr size_t mostKept = 64;

Grammars::~Grammars() {
  for (Kept *kept : list)
    dispose(kept);
  attn_vocabulary_destroy(vocabulary);
  pthread_mutex_destroy(&lock);
}

attn_status Grammars::makeVocabulary(const attn_model *model, int32_t entry,
                                     const attn_tokenizer *tokenizer, char **message) {
  attn_generation numbers;
  if (attn_status status = attn_generation_default(model, entry, &numbers, message))
    return status;
  Vector<int32_t> stops;
  for (int32_t i = 0; i < numbers.stopCount; ++i)
    if (numbers.stops[i] >= 0 && numbers.stops[i] < attn_tokenizer_size(tokenizer) &&
        !stops.push(int32_t(numbers.stops[i])))
      return ATTN_OUT_OF_MEMORY;
  return attn_vocabulary_create(tokenizer, stops.data(), int64_t(stops.size()), &vocabulary,
                                message);
}

void Grammars::forgetOldest() {
  Kept **oldest = nullptr;
  size_t unused = 0;
  for (Kept *&kept : list) {
    if (kept->users > 0)
      continue;
    ++unused;
    if (!oldest || kept->used < (*oldest)->used)
      oldest = &kept;
  }
  if (unused <= mostKept)
    return;
  dispose(*oldest);
  *oldest = list.back();
  list.pop();
}

Grammars::Kept *Grammars::find(const AnswerForm &form) {
  for (Kept *kept : list)
    if (kept->kind == form.kind && kept->text.size() == form.text.size() &&
        (form.text.empty() || memcmp(kept->text.data(), form.text.data(), form.text.size()) == 0)) {
      ++kept->users, kept->used = ++turn;
      return kept;
    }
  return nullptr;
}

attn_status Grammars::make(const AnswerForm &form, Kept *&made, char **message) const {
  made = create<Kept>();
  if (!made || !made->text.append(form.text.data(), form.text.size()))
    return ATTN_OUT_OF_MEMORY;
  made->kind = form.kind, made->users = 1;
  return attn_grammar_create(vocabulary, form.kind, made->text.data() ? made->text.data() : "",
                             made->text.size(), &made->grammar, message);
}

Grammars::Kept *Grammars::use(const attn_model *model, int32_t entry,
                              const attn_tokenizer *tokenizer, const AnswerForm &form,
                              attn_status &status, char **message) {
  pthread_mutex_lock(&lock);
  Kept *found = find(form);
  status = found || vocabulary ? ATTN_OK : makeVocabulary(model, entry, tokenizer, message);
  pthread_mutex_unlock(&lock);
  if (found || status)
    return found;
  // Others need not wait: a large grammar takes its time.
  Kept *made = nullptr;
  status = make(form, made, message);
  pthread_mutex_lock(&lock);
  if (!status && !(found = find(form))) { // nor has one of them made the same
    made->used = ++turn;
    if (list.push(made))
      found = made, made = nullptr;
    else
      status = ATTN_OUT_OF_MEMORY;
  }
  pthread_mutex_unlock(&lock);
  dispose(made);
  return found;
}

void Grammars::release(Kept *kept) {
  if (!kept)
    return;
  pthread_mutex_lock(&lock);
  --kept->users;
  forgetOldest();
  pthread_mutex_unlock(&lock);
}

FollowedForm::~FollowedForm() {
  attn_matcher_destroy(made);
  if (grammars)
    grammars->release(kept);
}

attn_status FollowedForm::begin(Grammars &from, const attn_model *model, int32_t entry,
                                const attn_tokenizer *tokenizer, const AnswerForm &form,
                                char **message) {
  attn_status status = ATTN_OK;
  grammars = &from;
  kept = from.use(model, entry, tokenizer, form, status, message);
  return kept ? attn_matcher_create(kept->grammar, &made, message) : status;
}

} // namespace attn
