// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What published folders say: each key of each of their files is decided on, and once. The data are
// names and values of published_configs.jsonl, whose head says how it is written.
#include "compiler/import/checkpoint/Folder.h"
#include "compiler/support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <set>

using namespace attn::importer;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

/// A published folder: its name, its files, and what of the error is expected where it is refused.
struct Published {
  std::string model, refused;
  json::Object shapes;
  std::map<std::string, json::Value> files;
};

/// The lines of the data. A line with `like` says what differs from the files of an earlier one.
std::vector<Published> readPublished() {
  auto buffer = llvm::MemoryBuffer::getFile(ATTN_SOURCE_DIR "/test/import/published_configs.jsonl");
  if (!buffer)
    return {};
  std::vector<Published> all;
  std::map<std::string, size_t> places;
  llvm::SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto value = attn::parseJson(line);
    if (!value) {
      ADD_FAILURE() << llvm::toString(value.takeError()) << " in " << line.take_front(80).str();
      continue;
    }
    json::Object &said = *value->getAsObject();
    if (said.get("about"))
      continue;
    Published one;
    one.model = said.getString("model")->str();
    one.refused = said.getString("refused").value_or("").str();
    if (const json::Object *shapes = said.getObject("shapes"))
      one.shapes = *shapes;
    if (auto like = said.getString("like")) {
      auto found = places.find(like->str());
      if (found == places.end()) {
        ADD_FAILURE() << one.model << " is like " << like->str() << ", which is not there";
        continue;
      }
      one.files = all[found->second].files;
    }
    for (auto &[file, content] : said) {
      if (!StringRef(file).ends_with(".json"))
        continue;
      json::Object *own = content.getAsObject();
      auto there = one.files.find(file.str());
      if (content.kind() == json::Value::Null) {
        one.files.erase(file.str());
      } else if (!own || there == one.files.end()) {
        one.files.insert_or_assign(file.str(), content);
      } else {
        json::Object *whole = there->second.getAsObject();
        for (auto &[key, changed] : *own)
          (*whole)[key] = changed;
      }
    }
    if (const json::Object *without = said.getObject("without"))
      for (const auto &[file, keys] : *without)
        for (const json::Value &key : *keys.getAsArray())
          one.files.at(file.str()).getAsObject()->erase(*key.getAsString());
    places[one.model] = all.size();
    all.push_back(std::move(one));
  }
  return all;
}

/// The folder as it lies on a disk, read by the importer.
llvm::Expected<Folder> folderOf(const Published &one, StringRef place) {
  for (const auto &[file, content] : one.files) {
    llvm::SmallString<256> path(place);
    llvm::sys::path::append(path, file);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path));
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    os << content;
  }
  auto folder = readFolder(place);
  if (!folder)
    return folder;
  for (const auto &[tensor, shape] : one.shapes)
    for (const json::Value &size : *shape.getAsArray())
      folder->shapes[tensor.str()].push_back(*size.getAsInteger());
  return folder;
}

/// How often it was decided on each key.
std::map<std::string, int> countsOf(const ImportedSpec &spec) {
  std::map<std::string, int> counts;
  for (const KeyDecision &key : spec.keys)
    ++counts[key.file + ": " + key.path];
  return counts;
}

/// That it was decided on each key of each file, on none twice, and on all of them for good.
void expectEachOnce(const Published &one, const ImportedSpec &spec) {
  std::map<std::string, int> counts = countsOf(spec);
  for (const auto &[file, content] : one.files) {
    if (const json::Array *modules = content.getAsArray())
      for (const auto &[i, module] : llvm::enumerate(*modules))
        for (const auto &entry : *module.getAsObject())
          EXPECT_EQ(1, counts[file + ": " + std::to_string(i) + "." + entry.first.str()])
              << one.model << ": " << file << ": " << entry.first.str();
    if (const json::Object *object = content.getAsObject())
      for (const auto &entry : *object) {
        std::string key = file + ": " + entry.first.str();
        // Of a language model within another, the keys within stand in its place.
        bool isWithin = !counts[key] && key == "config.json: text_config" &&
                        counts["config.json: text_config.model_type"];
        EXPECT_EQ(isWithin ? 0 : 1, counts[key]) << one.model << ": " << key;
      }
  }
  for (const auto &[key, count] : counts) // those within objects, too
    EXPECT_GE(1, count) << one.model << ": " << key;
  for (const KeyDecision &key : spec.keys) {
    EXPECT_NE(KeyFate::Undecided, key.fate) << one.model << ": " << key.path;
    EXPECT_FALSE(key.isTwice) << one.model << ": " << key.path << " is read, too";
  }
}

TEST(PublishedConfigsTest, EachKeyIsDecidedOnOnce) {
  llvm::SmallString<256> root;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("published", root));
  std::set<std::string> types;
  size_t number = 0, imported = 0;
  for (const Published &one : readPublished()) {
    std::string place = (root + "/" + std::to_string(number++)).str();
    auto folder = folderOf(one, place);
    auto spec = folder ? importFolder(*folder) : folder.takeError();
    const json::Object &config = *one.files.at("config.json").getAsObject();
    types.insert(config.getString("model_type").value_or("timm").str());
    if (!spec) {
      std::string error = llvm::toString(spec.takeError());
      EXPECT_FALSE(one.refused.empty()) << one.model << ": " << error;
      EXPECT_NE(std::string::npos, error.find(one.refused)) << one.model << ": " << error;
      continue;
    }
    EXPECT_EQ("", one.refused) << one.model << " is imported";
    ++imported;
    expectEachOnce(one, *spec);
  }
  EXPECT_LE(150u, number);
  EXPECT_LE(60u, types.size());
  std::printf("%zu folders, %zu kinds of model, %zu imported\n", number, types.size(), imported);
  llvm::sys::fs::remove_directories(root);
}

/// Imports a folder of this config, and of the other files of a published one.
std::string textOf(const Folder &published, const json::Object &config) {
  Folder folder = published;
  folder.config = config;
  auto spec = importFolder(folder);
  return spec ? spec->text : "error: " + llvm::toString(spec.takeError());
}

/// Leaves out one key after the other, and compares with its class's default in its place.
/// `whole` is the config, `object` that within which the keys stand. Returns how many were tried.
size_t compareDefaults(const Folder &folder, json::Object &whole, json::Object &object,
                       const json::Object &defaults, const std::string &called) {
  size_t tried = 0;
  for (const auto &entry : defaults) {
    const auto &key = entry.first;
    const json::Value &value = entry.second;
    std::string name = called + "." + key.str();
    const json::Value *said = object.get(key);
    if (const json::Object *inner = value.getAsObject()) {
      if (said && said->getAsObject())
        tried += compareDefaults(folder, whole, *object.getObject(key), *inner, name);
      continue;
    }
    std::optional<json::Value> kept;
    if (said)
      kept = *said;
    object.erase(key);
    std::string without = textOf(folder, whole);
    object[key] = value;
    std::string with = textOf(folder, whole);
    object.erase(key);
    if (kept)
      object.try_emplace(key, *kept);
    ++tried;
    // Sizes of a model may have to be said: an error names the key.
    bool isAsked = StringRef(without).starts_with("error: ") &&
                   StringRef(without).contains("`" + key.str() + "`");
    if (!isAsked)
      EXPECT_EQ(with, without) << name;
  }
  return tried;
}

TEST(PublishedConfigsTest, WhatAConfigLeavesOutIsItsClassesDefault) {
  auto buffer = llvm::MemoryBuffer::getFile(ATTN_SOURCE_DIR "/test/import/class_defaults.json");
  ASSERT_TRUE(bool(buffer));
  auto defaults = attn::parseJson((*buffer)->getBuffer());
  ASSERT_TRUE(bool(defaults)) << llvm::toString(defaults.takeError());
  std::vector<Published> all = readPublished();
  size_t tried = 0;
  llvm::SmallString<256> root;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("published", root));
  for (const auto &entry : *defaults->getAsObject()) {
    std::string type = entry.first.str();
    auto found = llvm::find_if(all, [&](const Published &one) {
      return one.refused.empty() &&
             one.files.at("config.json").getAsObject()->getString("model_type") == StringRef(type);
    });
    ASSERT_NE(all.end(), found) << type;
    Folder folder = llvm::cantFail(folderOf(*found, (root + "/" + type).str()));
    json::Object config = folder.config;
    tried += compareDefaults(folder, config, config, *entry.second.getAsObject(), type);
  }
  llvm::sys::fs::remove_directories(root);
  EXPECT_LE(700u, tried);
  std::printf("%zu defaults\n", tried);
}

/// Transformers 5 writes what a picture becomes into an object of another file.
TEST(PublishedConfigsTest, AProcessorWithinAnotherFileIsReadAsTheOlderOne) {
  std::vector<Published> all = readPublished();
  llvm::SmallString<256> root;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("published", root));
  for (StringRef model : {"openai/clip-vit-large-patch14", "openai/whisper-base"}) {
    Published one = *llvm::find_if(all, [&](const Published &each) { return each.model == model; });
    auto older = importFolder(llvm::cantFail(folderOf(one, (root + "/older").str())));
    ASSERT_TRUE(bool(older)) << llvm::toString(older.takeError());
    StringRef part = model.contains("clip") ? "image_processor" : "feature_extractor";
    json::Object processor{{part, one.files.at("preprocessor_config.json")},
                           {"processor_class", "Processor"}};
    for (bool isBoth : {true, false}) { // the newer one counts
      one.files.insert_or_assign("processor_config.json", json::Object(processor));
      if (isBoth)
        one.files.insert_or_assign("preprocessor_config.json", json::Object{{"size", 12}});
      else
        one.files.erase("preprocessor_config.json");
      std::string place = (root + "/newer" + (isBoth ? "0" : "1")).str();
      auto newer = importFolder(llvm::cantFail(folderOf(one, place)));
      ASSERT_TRUE(bool(newer)) << llvm::toString(newer.takeError());
      auto shown = [](StringRef text) { return text.drop_front(text.find("\nmodel ")); };
      EXPECT_EQ(shown(older->text), shown(newer->text));
      EXPECT_EQ(older->notes.size(), newer->notes.size());
      EXPECT_TRUE(llvm::any_of(newer->keys, [&](const KeyDecision &key) {
        return key.path == (part + (part == "image_processor" ? ".image_mean" : ".n_fft")).str() &&
               key.fate == KeyFate::Read;
      }));
    }
    llvm::sys::fs::remove_directories(root);
  }
}

} // namespace
