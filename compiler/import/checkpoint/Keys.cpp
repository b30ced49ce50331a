// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of keys.txt, and what they say of the keys that nobody asked for.
#include "compiler/import/checkpoint/Keys.h"
#include "compiler/support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// A row of the table: some keys of one kind of file, for some families.
struct Row {
  std::string file;
  std::vector<std::string> families, keys; ///< "*": all; a key may end in `*`
  bool isAny = false, isNote = false;      ///< at all values; told of instead of refused
  bool isIdle = false;                     ///< at all, where the family does not ask for it
  bool isOfRuns = false;                   ///< read when a model runs
  json::Array values;                      ///< else at these alone
  std::string why;
};

/// The rows of keys.txt.
struct Table {
  std::vector<Row> rows;
  std::string problem;
};

} // namespace

static constexpr StringRef tableText =
#include "compiler/import/Keys.inc"
    ;

/// "any", "idle", "runs", "[1, null]", "note", "note [1]".
static bool parseValues(StringRef text, Row &row) {
  row.isNote = text.consume_front("note");
  text = text.trim();
  row.isIdle = text == "idle";
  row.isOfRuns = text == "runs";
  if (text == "any" || row.isIdle || row.isOfRuns || (row.isNote && text.empty())) {
    row.isAny = !row.isNote;
    return true;
  }
  auto values = parseJson(text);
  if (!values || !values->getAsArray()) {
    consumeError(values.takeError());
    return false;
  }
  row.values = std::move(*values->getAsArray());
  return true;
}

/// Words, of which `$name` is a list that was named before.
static std::vector<std::string> wordsOf(StringRef text,
                                        std::map<std::string, std::vector<std::string>> &lists) {
  std::vector<std::string> words;
  SmallVector<StringRef> parts;
  text.split(parts, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (part.starts_with("$"))
      append_range(words, lists[part.str()]);
    else
      words.push_back(part.str());
  }
  return words;
}

/// The keys of numbers that attn/settings.def names.
static Row rowOfNumbers() {
  Row row;
  row.file = "generation";
  row.families = {"*"};
  row.keys = {
#define ATTN_KEY(setting, key, idle, when) key,
#include "runtime/include/attn/settings.def"
  };
  row.isAny = row.isIdle = true;
  row.why = "read where it counts";
  return row;
}

static Table parseTable() {
  Table table;
  table.rows.push_back(rowOfNumbers());
  std::map<std::string, std::vector<std::string>> lists;
  SmallVector<StringRef> lines;
  tableText.split(lines, '\n');
  for (auto [number, whole] : enumerate(lines)) {
    StringRef line = whole.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    if (line.starts_with("$")) {
      auto [name, words] = line.split('=');
      lists[name.trim().str()] = wordsOf(words, lists);
      continue;
    }
    SmallVector<StringRef> parts;
    line.split(parts, " : ", 3);
    Row row;
    bool isWhole = parts.size() == 4 && parseValues(parts[2].trim(), row);
    auto [file, families] = isWhole ? parts[0].split(' ') : std::pair<StringRef, StringRef>();
    row.families = wordsOf(families, lists);
    if (!isWhole || row.families.empty()) {
      table.problem = "line " + std::to_string(number + 1) + ": " + line.str();
      continue;
    }
    row.file = file.str();
    row.keys = wordsOf(parts[1], lists);
    row.why = parts[3].trim().str();
    table.rows.push_back(std::move(row));
  }
  return table;
}

static const Table &table() {
  static const Table parsed = parseTable();
  return parsed;
}

std::string checkKeyTable() { return table().problem; }

std::vector<std::string> keysOfRuns(StringRef kind) {
  std::vector<std::string> keys;
  for (const Row &row : table().rows)
    if (row.file == kind && row.isOfRuns)
      append_range(keys, row.keys);
  return keys;
}

/// Whether a key is one that a row names.
static bool names(const Row &row, StringRef key) {
  return any_of(row.keys, [&](StringRef one) {
    return one == key || (one.consume_back("*") && key.starts_with(one));
  });
}

/// Whether an object in a config.json is a config of its own, which has the keys that all have.
static bool isConfig(StringRef key) {
  return key.ends_with("_config") || key == "encoder" || key == "decoder";
}

namespace {

/// An object that rows decide on as on a file.
struct Place {
  StringRef file, kind;
  std::string within = ""; ///< where it stands in the file: what rows do not name of a path
};

/// Walks through the files of one folder.
class KeyWalk {
public:
  explicit KeyWalk(const KeyQuestion &question) : question(question) {}
  void walk(const Place &place, const json::Object &object, const Twine &within, StringRef family);
  /// A config whose `text_config` is that of the family, with what its class adds to it.
  void walkAround(const Folder &whole);
  /// The values of a GGUF file, of which those of its architecture are `ARCH.…` in rows.
  void walkGguf();
  std::vector<KeyDecision> decisions;

private:
  const Row *rowOf(StringRef kind, StringRef family, StringRef path) const;
  KeyDecision decide(const Place &place, StringRef family, StringRef path,
                     const json::Value &value);
  /// What a config says of packed weights, which rows of their method decide on.
  void walkPacking(StringRef key, const json::Value &value);
  void apply(const Row &row, const json::Value &value, KeyDecision &decision) const;

  const KeyQuestion &question;
};

} // namespace

/// The row of a key: one of the family before one of all, one of the whole path before one of the
/// key as any config has it.
const Row *KeyWalk::rowOf(StringRef kind, StringRef family, StringRef path) const {
  auto [parent, leaf] = path.rsplit('.');
  std::vector<StringRef> paths = {path};
  if (!leaf.empty() && isConfig(parent))
    paths.push_back(leaf);
  if (auto [config, within] = path.split('.'); within != leaf && isConfig(config))
    paths.push_back(within);
  for (StringRef of : {family, question.family, StringRef("*")})
    for (StringRef key : paths)
      for (const Row &row : table().rows)
        if (row.file == kind && is_contained(row.families, of) && names(row, key))
          return &row;
  return nullptr;
}

void KeyWalk::apply(const Row &row, const json::Value &value, KeyDecision &decision) const {
  decision.why = row.why;
  if (row.isAny || is_contained(row.values, value)) {
    decision.fate = row.isOfRuns ? KeyFate::Read : KeyFate::Harmless;
    return;
  }
  decision.fate = row.isNote ? KeyFate::Noted : KeyFate::Undecided;
  if (row.isNote)
    return;
  decision.why += ", which changes nothing at ";
  for (auto [i, one] : enumerate(row.values)) {
    raw_string_ostream os(decision.why);
    os << (i ? ", " : "") << '`' << one << '`';
  }
  decision.why += " alone";
}

KeyDecision KeyWalk::decide(const Place &place, StringRef family, StringRef path,
                            const json::Value &value) {
  StringRef kind = place.kind;
  KeyDecision decision{
      place.file.str(), place.within + path.str(), "", KeyFate::Undecided, "", false};
  raw_string_ostream(decision.value) << value;
  if (decision.value.size() > 80)
    decision.value = json::fixUTF8(StringRef(decision.value).take_front(76)) + " ...";
  const Row *row = rowOf(kind, family, path);
  if (row) {
    apply(*row, value, decision);
  } else if (const Row *other = kind == "config" ? rowOf("generation", family, path) : nullptr) {
    // Older folders say in config.json what generation_config.json says now.
    bool counts = question.generates && !question.folder.generation;
    if (counts)
      apply(*other, value, decision);
    else
      decision.fate = KeyFate::Harmless, decision.why = "of generation, which it does not decide";
  }
  if (value.kind() == json::Value::Null && decision.fate == KeyFate::Undecided)
    decision.fate = KeyFate::Harmless, decision.why = "null says nothing";
  if (decision.fate == KeyFate::Undecided && is_contained(question.folder.allowed, decision.path))
    decision.fate = KeyFate::Allowed;
  return decision;
}

void KeyWalk::walkPacking(StringRef key, const json::Value &value) {
  const json::Object *packing = value.getAsObject();
  if (packing && key == "quantization_config")
    walk({"config.json", "packing", key.str() + "."}, *packing, "",
         packing->getString("quant_method").value_or(""));
}

void KeyWalk::walk(const Place &place, const json::Object &object, const Twine &within,
                   StringRef family) {
  std::vector<StringRef> keys;
  for (const auto &entry : object)
    keys.push_back(entry.first);
  llvm::sort(keys);
  for (StringRef key : keys) {
    const json::Value &value = *object.get(key);
    std::string path = (within + key).str();
    auto found = question.asked.find({&object, key.str()});
    KeyDecision decision = decide(place, family, path, value);
    if (found != question.asked.end()) {
      const Row *row = rowOf(place.kind, family, path);
      decision.isTwice = row && row->isAny && !row->isIdle && !is_contained(row->families, "*");
      decision.fate = KeyFate::Read;
    }
    decisions.push_back(decision);
    if (place.kind == "config" && path == "quantization_config") {
      walkPacking(path, value);
      continue;
    }
    const json::Object *inner = value.getAsObject();
    if (found == question.asked.end() || found->second || !inner)
      continue;
    auto own = inner->getString("model_type");
    walk(place, *inner, path + ".", own ? *own : family);
  }
}

void KeyWalk::walkAround(const Folder &whole) {
  const json::Object *text = whole.config.getObject("text_config");
  StringRef type = whole.config.getString("model_type").value_or("");
  auto walkWhere = [&](const json::Object &object, StringRef within, StringRef family,
                       function_ref<bool(StringRef)> isWanted) {
    size_t first = decisions.size();
    walk({"config.json", "config"}, object, within, family);
    decisions.erase(std::remove_if(decisions.begin() + ptrdiff_t(first), decisions.end(),
                                   [&](const KeyDecision &key) {
                                     StringRef own = StringRef(key.path).drop_front(within.size());
                                     return !isWanted(own.split('.').first);
                                   }),
                    decisions.end());
  };
  // Without `text_config` the language model's values stand beside those of the other parts.
  walkWhere(whole.config, "", type, [&](StringRef key) {
    return text ? key != "text_config" : !question.folder.config.get(key);
  });
  walkWhere(question.folder.config, text ? "text_config." : "", question.family,
            [&](StringRef key) { return (text ? *text : whole.config).get(key) != nullptr; });
}

void KeyWalk::walkGguf() {
  const Folder &folder = question.folder;
  std::string own = folder.architecture + ".";
  std::vector<StringRef> keys;
  for (const auto &entry : folder.values)
    keys.push_back(entry.first);
  llvm::sort(keys);
  Place place{sys::path::filename(folder.path), "gguf"};
  for (StringRef key : keys) {
    StringRef named = key;
    bool isOwn = named.consume_front(own);
    std::string path = (isOwn ? "ARCH." : "") + named.str();
    KeyDecision decision = decide(place, folder.architecture, path, *folder.values.get(key));
    decision.path = key.str();
    bool isAllowed = is_contained(folder.allowed, key);
    if (folder.askedValues.count(key.str()))
      decision.fate = KeyFate::Read;
    else if (decision.fate == KeyFate::Undecided && isAllowed)
      decision.fate = KeyFate::Allowed;
    else if (decision.fate == KeyFate::Undecided && !isOwn && !key.starts_with("tokenizer."))
      decision.fate = KeyFate::Noted, decision.why = "of a kind that is not known";
    decisions.push_back(decision);
  }
}

std::vector<KeyDecision> decideKeys(const KeyQuestion &question) {
  KeyWalk walk(question);
  const Folder &folder = question.folder;
  walk.walkGguf();
  if (folder.around)
    walk.walkAround(*folder.around);
  else if (folder.renames.empty()) // else its config.json was made of another file
    walk.walk({"config.json", "config"}, folder.config, "", question.family);
  for (const auto &[place, object] :
       {std::pair(Place{"generation_config.json", "generation"}, &folder.generation),
        {Place{folder.preprocessorFile, "preprocessor", folder.preprocessorWithin},
         &folder.preprocessor},
        {Place{"sentence_bert_config.json", "module"}, &folder.sentence},
        {Place{"config_sentence_transformers.json", "module"}, &folder.prompts}})
    if (*object && folder.renames.empty())
      walk.walk(place, **object, "", question.family);
  for (const auto &[i, module] : enumerate(folder.modules)) {
    std::string path = module.path + "/config.json";
    if (folder.renames.empty())
      walk.walk({path, "module"}, module.config, "", question.family);
    walk.walk({"modules.json", "modules", std::to_string(i) + "."}, module.said, "", "");
  }
  for (const FileBeside &file : folder.beside)
    walk.walk({file.name, file.kind}, file.content, "", file.family);
  return std::move(walk.decisions);
}

unsigned lineOfKey(StringRef text, StringRef path) {
  std::vector<std::string> within; // the keys of the objects around
  std::string key;
  unsigned line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    line += c == '\n';
    if (c == '{' || c == '[')
      within.push_back(key), key.clear();
    else if ((c == '}' || c == ']') && !within.empty())
      within.pop_back(), key.clear();
    if (c != '"')
      continue;
    size_t end = i + 1;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    StringRef word = text.slice(i + 1, end);
    i = end;
    if (!text.drop_front(std::min(end + 1, text.size())).ltrim().starts_with(":"))
      continue;
    key = word.str();
    std::string full;
    for (const std::string &part : within)
      full += part.empty() ? "" : part + ".";
    if (full + key == path)
      return line;
  }
  return 0;
}

/// "`config.json`, line 17: `foo` is `3`".
static std::string placed(const KeyDecision &key, const Folder &folder) {
  std::string text = "`" + key.file + "`";
  auto found = folder.texts.find(key.file);
  if (unsigned line = found == folder.texts.end() ? 0 : lineOfKey(found->second, key.path))
    text += ", line " + std::to_string(line);
  return text + ": `" + key.path + "` is `" + key.value + "`";
}

Error accountForKeys(ArrayRef<KeyDecision> decisions, const Folder &folder,
                     std::vector<std::string> &notes) {
  std::vector<const KeyDecision *> undecided;
  for (const KeyDecision &key : decisions) {
    if (key.fate == KeyFate::Noted)
      notes.push_back(placed(key, folder) + ", which is left out: " + key.why);
    else if (key.fate == KeyFate::Allowed)
      notes.push_back(placed(key, folder) + ", which is passed by, as `--allow` says");
    else if (key.fate == KeyFate::Undecided)
      undecided.push_back(&key);
  }
  if (undecided.empty())
    return Error::success();
  std::string text, list;
  if (undecided.size() > 1)
    text = std::to_string(undecided.size()) + " keys are not read, and may change numbers";
  for (const KeyDecision *key : undecided) {
    std::string what = key->why.empty() ? "no family of this kind reads it" : key->why;
    text += (undecided.size() > 1 ? "\n    " : "") + placed(*key, folder) + ": " + what;
    list += (list.empty() ? "" : ",") + key->path;
  }
  if (undecided.size() == 1)
    text += undecided.front()->why.empty() ? ", and it may change numbers" : "";
  return importError(text, "`--allow " + list + "` passes " +
                               (undecided.size() > 1 ? "them" : "it") +
                               " by, where that is known to change nothing");
}

} // namespace attn::importer
