// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// /v1/audio/transcriptions and /v1/audio/translations: a sound that is written down, as OpenAI's
// API has it.
#include "base/Json.h"
#include "run/Model.h"
#include "serve/Fields.h"
#include "serve/Http.h"
#include "serve/MemoryFile.h"
#include "serve/Multipart.h"
#include "serve/Texts.h"
#include <cmath>

// In libattn_sound.
#pragma weak attn_sound_read

namespace attn {
namespace {

/// What is spoken between two times; places in the text.
struct Segment {
  double begin, end;
  size_t from, size;
};

/// How a transcript is written.
enum class TranscriptForm { Json, VerboseJson, Text, Srt, Vtt };
constexpr const char *formNames[] = {"json", "verbose_json", "text", "srt", "vtt"};

/// A request with a sound.
class SpeechRequest {
public:
  SpeechRequest(Exchange &exchange, bool translates) : exchange(exchange), translates(translates) {}
  void read();
  attn_status compute(attn_context *context, char **message);
  void answer();

private:
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  bool take(const FormField &field);
  bool takeForm(Slice value);
  /// The entry that takes a sound and gives a text.
  bool findEntry();
  bool takeText(double begin, double end, Slice spoken);
  bool isTimed() const { return form != TranscriptForm::Json && form != TranscriptForm::Text; }
  void appendVerbose(Text &out) const;
  void appendLines(Text &out) const;
  Slice trimmed(const Segment &segment) const;

  Exchange &exchange;
  bool translates, streams = false;
  Vector<char> model, language;
  Slice sound;
  bool hasSound = false;
  double temperature = NAN;
  TranscriptForm form = TranscriptForm::Json;
  int32_t input = -1;
  const TextModel *files = nullptr;
  Vector<char> text;
  Vector<Segment> segments;
};

bool SpeechRequest::takeForm(Slice value) {
  for (size_t i = 0; i < sizeof formNames / sizeof *formNames; ++i)
    if (value.is(formNames[i])) {
      form = TranscriptForm(i);
      return true;
    }
  return fail("`response_format` is none of json, verbose_json, text, srt and vtt");
}

bool SpeechRequest::take(const FormField &field) {
  Slice name = field.name, value = field.value;
  auto keep = [&](Vector<char> &to) {
    to.clear();
    return (append(to, value) && to.push(0)) ? (to.pop(), true) : exchange.failWithoutMemory();
  };
  if (name.is("file")) {
    sound = value, hasSound = true;
    return true;
  }
  if (name.is("model"))
    return keep(model);
  if (name.is("language"))
    return keep(language);
  if (name.is("response_format"))
    return takeForm(value);
  if (name.is("stream")) {
    streams = value.is("true");
    return streams || value.is("false") || fail("`stream` is not true or false");
  }
  if (name.is("temperature")) {
    Vector<char> number;
    if (!keep(number))
      return false;
    char *end = nullptr;
    temperature = strtod(number.data(), &end);
    return (end != number.data() && !*end && temperature >= 0 && temperature <= 1e6) ||
           fail("`temperature` is no number of at least 0");
  }
  if (name.is("timestamp_granularities[]"))
    return value.is("segment") || fail("`timestamp_granularities[]` may only be segment here");
  if (name.is("prompt"))
    return value.size == 0 || fail("`prompt` may only be empty here");
  if (name.is("user") || name.is("include[]") || name.is("chunking_strategy"))
    return true;
  exchange.fail(400,
                "the form has no field `%.*s`: it has file, model, language, response_format, "
                "stream, temperature, timestamp_granularities[]",
                int(name.size < 64 ? name.size : 64), name.data);
  return false;
}

bool SpeechRequest::findEntry() {
  const TextService &service = *static_cast<TextService *>(exchange.texts);
  bool isKnown = model.empty();
  for (const ServedEntry *entry : service.entries) {
    bool isMeant = model.empty() || Slice(model).is(entry->name) ||
                   Slice(model).is(attn_model_name(entry->model));
    isKnown |= isMeant;
    const attn_abi_entry &tables = entry->model->tables->entries[entry->entry];
    const TextModel *own = service.of(entry->model);
    if (!isMeant || !own->tokenizer || exchange.target)
      continue;
    int32_t place = inputOfFrames(*entry->model->tables, entry->entry);
    if (place < 0 && tables.inputCount == 1 && tables.unfold)
      place = 0;
    if (place < 0 || !soundOf(*entry->model->tables, entry->entry, place))
      continue;
    exchange.target = entry;
    input = place;
    files = own;
  }
  if (!exchange.target)
    exchange.fail(404,
                  isKnown ? "no entry of `%.100s` writes sounds down, or it has no tokenizer"
                          : "there is no model `%.100s` (GET /v1/models lists them)",
                  model.empty() ? "the models here" : model.data());
  else if (!attn_sound_read)
    exchange.fail(400, "this program was linked without decoders of sounds");
  return exchange.status == 200;
}

void SpeechRequest::read() {
  Vector<FormField> fields;
  if (!readForm(exchange, fields))
    return;
  for (const FormField &field : fields)
    if (!take(field))
      return;
  if (!hasSound) {
    fail("`file` is missing: a WAV or FLAC file");
    return;
  }
  if (findEntry())
    exchange.makeParts(1);
}

bool SpeechRequest::takeText(double begin, double end, Slice spoken) {
  Segment segment = {begin, end, text.size(), spoken.size};
  // Segments are texts of their own, with spaces in front or without.
  if (!append(text, spoken) || !segments.push(segment))
    return false;
  if (!streams)
    return true;
  Text event;
  event.append("event: transcript.text.delta\ndata: {\"type\": \"transcript.text.delta\", "
               "\"delta\": ");
  appendQuoted(segments.size() == 1 ? trimmed(segment) : spoken, event);
  event.append("}\n\n");
  return !event.failed() && exchange.server->stream(exchange, event.c_str(), event.size());
}

attn_status SpeechRequest::compute(attn_context *context, char **message) {
  const ServedEntry &target = *exchange.target;
  MemoryFile file;
  attn_speech_options options = {};
  if (!file.open(sound))
    return ATTN_OUT_OF_MEMORY;
  if (attn_status status =
          attn_speech_options_default(target.model, target.entry, &options, message))
    return status;
  if (!std::isnan(temperature))
    options.numbers.sampling.temperature = float(temperature);
  options.language = language.empty() ? nullptr : language.data();
  options.task = translates ? "translate" : nullptr;
  options.timestamps = isTimed();
  options.user = this;
  options.onText = [](void *self, double begin, double end, const char *spoken, size_t size) {
    return int32_t(static_cast<SpeechRequest *>(self)->takeText(begin, end, {spoken, size}));
  };
  float *values = nullptr;
  int64_t count = 0;
  attn_status status =
      attn_sound_read(target.model, target.entry, input, file.path(), &values, &count, message);
  if (!status)
    status = attn_speech_transcribe(context, target.entry, files->tokenizer, values, count,
                                    &options, message);
  free(values);
  file.nameIn(*message);
  // A language or a task that the model lacks is a mistake of the request.
  return status == ATTN_INVALID_ARGUMENT ? ATTN_BAD_INPUT : status;
}

Slice SpeechRequest::trimmed(const Segment &segment) const {
  Slice own(text.data() + segment.from, segment.size);
  while (own.size && own.data[0] == ' ')
    own = own.from(1);
  return own;
}

void SpeechRequest::appendVerbose(Text &out) const {
  double end = segments.empty() ? 0 : segments[segments.size() - 1].end;
  out.append(", \"task\": \"%s\", \"duration\": %.2f, \"language\": ",
             translates ? "translate" : "transcribe", end);
  if (language.empty())
    out.append("null");
  else
    appendQuoted(Slice(language), out);
  out.append(", \"segments\": [");
  for (size_t i = 0; i < segments.size(); ++i) {
    out.append("%s{\"id\": %zu, \"start\": %.2f, \"end\": %.2f, \"text\": ", i ? ", " : "", i,
               segments[i].begin, segments[i].end);
    appendQuoted({text.data() + segments[i].from, segments[i].size}, out);
    out.append("}");
  }
  out.append("]");
}

/// Appends "01:02:03,456".
static void appendTime(double seconds, char comma, Text &out) {
  auto thousandths = static_cast<long long>(std::llround(seconds * 1000));
  out.append("%02lld:%02lld:%02lld%c%03lld", thousandths / 3600000, thousandths / 60000 % 60,
             thousandths / 1000 % 60, comma, thousandths % 1000);
}

void SpeechRequest::appendLines(Text &out) const {
  bool isSrt = form == TranscriptForm::Srt;
  out.append(isSrt ? "" : "WEBVTT\n\n");
  for (size_t i = 0; i < segments.size(); ++i) {
    Slice own = trimmed(segments[i]);
    if (isSrt)
      out.append("%zu\n", i + 1);
    appendTime(segments[i].begin, isSrt ? ',' : '.', out);
    out.append(" --> ");
    appendTime(segments[i].end, isSrt ? ',' : '.', out);
    out.append("\n%.*s\n\n", int(own.size), own.data);
  }
}

void SpeechRequest::answer() {
  Text out;
  Slice whole = trimmed({0, 0, 0, text.size()});
  if (streams) {
    out.append(
        "event: transcript.text.done\ndata: {\"type\": \"transcript.text.done\", \"text\": ");
    appendQuoted(whole, out);
    out.append("}\n\n");
    exchange.type = "text/event-stream";
  } else if (form == TranscriptForm::Json || form == TranscriptForm::VerboseJson) {
    out.append("{\"text\": ");
    appendQuoted(whole, out);
    if (form == TranscriptForm::VerboseJson)
      appendVerbose(out);
    out.append("}");
  } else {
    exchange.type = form == TranscriptForm::Vtt ? "text/vtt" : "text/plain; charset=utf-8";
    if (form == TranscriptForm::Text)
      out.append("%.*s\n", int(whole.size), whole.data);
    else
      appendLines(out);
  }
  if (out.failed() || !exchange.answer.append(out.c_str(), out.size()))
    exchange.failWithoutMemory();
}

template <bool isOfTranslation> void readSpeech(Exchange &exchange) {
  bool translates = isOfTranslation;
  auto *request = create<SpeechRequest>(exchange, translates);
  exchange.work = request;
  if (request)
    request->read();
  else
    exchange.failWithoutMemory();
}
attn_status computeSpeech(attn_context *context, Part *const *parts, size_t, char **message) {
  return static_cast<SpeechRequest *>(parts[0]->exchange->work)->compute(context, message);
}
void answerSpeech(Exchange &exchange) { static_cast<SpeechRequest *>(exchange.work)->answer(); }
void releaseSpeech(void *work) { dispose(static_cast<SpeechRequest *>(work)); }

} // namespace

const RequestKind transcriptionRequests = {readSpeech<false>, computeSpeech, answerSpeech,
                                           releaseSpeech};
const RequestKind translationRequests = {readSpeech<true>, computeSpeech, answerSpeech,
                                         releaseSpeech};

} // namespace attn
