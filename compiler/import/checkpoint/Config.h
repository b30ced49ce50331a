// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a config.json, each asked for by its name and kind.
#pragma once

#include "compiler/import/Import.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace attn::importer {

/// The keys that were asked for, by the object they stand in. `true` is one whose whole value is
/// taken, so that the keys in it need not be asked for.
using AskedKeys = std::map<std::pair<const llvm::json::Object *, std::string>, bool>;

/// Reads values of a JSON object. The first that is missing or wrong is remembered as an error, and
/// what is asked for afterwards is whatever fits: who reads asks once, at the end.
///
/// Each accessor remembers the key that it was asked for: what nobody asks for is decided on by
/// the table in keys.txt (Keys.h).
class Config {
public:
  /// `file` is what messages call the object, which outlives this.
  Config(const llvm::json::Object &object, std::string file)
      : object(&object), file(std::move(file)), asked(std::make_shared<AskedKeys>()) {}
  /// The object of a key as a config of its own, without keys where nothing is said. The keys that
  /// it is asked for are remembered here; what it refuses and notes is taken over by `adopt`.
  Config within(llvm::StringRef key);

  /// A whole number from 1 to 2^31 - 1, which has to be there.
  int64_t size(llvm::StringRef key);
  /// The same, or `otherwise` where the object says nothing, or null.
  int64_t size(llvm::StringRef key, int64_t otherwise);
  /// A number. Where nothing is said it is `otherwise`, and a note tells so.
  double number(llvm::StringRef key, double otherwise);
  /// A number that may be missing.
  std::optional<double> number(llvm::StringRef key);
  /// A truth value, `otherwise` where nothing is said.
  bool flag(llvm::StringRef key, bool otherwise);
  /// A text, `otherwise` where nothing is said.
  std::string text(llvm::StringRef key, llvm::StringRef otherwise);
  /// A list of texts; empty where nothing is said.
  std::vector<std::string> texts(llvm::StringRef key);
  /// A text, or each of a list of texts; empty where nothing is said.
  std::vector<std::string> oneOrTexts(llvm::StringRef key);
  /// A number, or each of a list of numbers; empty where nothing is said.
  std::vector<int64_t> sizes(llvm::StringRef key);
  /// A list of numbers; empty where nothing is said.
  std::vector<double> numbers(llvm::StringRef key);
  /// An object in this one, whose keys have to be asked for, too; null where nothing is said.
  const llvm::json::Object *objectAt(llvm::StringRef key);
  /// The same, whose keys are names that the model has, as those of classes: none is asked for.
  const llvm::json::Object *mapAt(llvm::StringRef key);
  /// Any value, taken as a whole; null where nothing is said.
  const llvm::json::Value *valueAt(llvm::StringRef key);
  /// A whole number, where there is one; nothing where the value is of another kind.
  std::optional<int64_t> whole(llvm::StringRef key);
  /// Counts keys as read that say nothing here, since others have said it.
  void passOver(llvm::ArrayRef<llvm::StringRef> keys);
  /// Whether there is no such key at all: null is something that a file says.
  bool isSilent(llvm::StringRef key) const;
  /// Whether something is said that is not null.
  bool has(llvm::StringRef key) const;

  /// Remembers that a value cannot be what it is.
  void refuse(llvm::StringRef key, const llvm::Twine &expected, const llvm::Twine &help = "");
  /// Takes over what another has remembered.
  void adopt(const Config &other);
  /// Remembers a note for the person who imports.
  void note(const llvm::Twine &text) { notes.push_back(text.str()); }
  /// What was remembered first, or success.
  llvm::Error takeError();
  /// The keys that this one, those within it and those it adopted were asked for.
  const AskedKeys &askedKeys() const { return *asked; }

  std::vector<std::string> notes;

private:
  /// What is said; null where that is null, too.
  const llvm::json::Value *find(llvm::StringRef key, bool isWhole = false) const;

  const llvm::json::Object *object;
  std::string file, message, help;
  std::shared_ptr<AskedKeys> asked;
};

/// A number as a spec writes it: no digits more than are needed to read the same again.
std::string numberText(double value);

} // namespace attn::importer
