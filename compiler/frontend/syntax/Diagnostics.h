// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a person is told about a spec. Every error a user can make has a stable code in
// DiagnosticCodes.def, a place, what was found, what was expected, and where it is known the mend.
#pragma once

#include "compiler/frontend/syntax/SourceFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace attn::frontend {

/// Whether compilation fails for it.
enum class Severity { Error, Warning };

/// The stable codes, named after the mistake: `DiagCode::MissingVersionLine` is A0001.
enum class DiagCode {
#define ATTN_DIAGNOSTIC(code, name, meaning) name,
#include "compiler/frontend/syntax/DiagnosticCodes.def"
};

/// `A0001`
llvm::StringRef codeText(DiagCode code);
/// What the code means in one line.
llvm::StringRef codeMeaning(DiagCode code);

/// A place with a few words about it.
struct Label {
  SourceRange range;
  std::string text;
};

/// A change to the text: `text` takes the place of what is at `range`. An empty range is an
/// insertion, an empty text a deletion.
struct Edit {
  SourceRange range;
  std::string text;
};

/// What can be done about a finding: in words, and as an edit where it is one that is known.
struct Help {
  std::string text;
  std::optional<Edit> edit;
};

/// One finding. Built in place by DiagnosticEngine::error and the chained calls below.
struct Diagnostic {
  Severity severity = Severity::Error;
  DiagCode code;
  std::string message;
  std::optional<SourceRange> range; ///< None: about the file as a whole.
  std::string label;                ///< Printed beside the carets of `range`.
  std::vector<Label> secondary;
  std::vector<std::string> lines; ///< Printed as they are below the places (tables of names).
  std::vector<std::string> notes;
  std::vector<Help> helps;

  /// Words beside the carets.
  Diagnostic &says(const llvm::Twine &text) { return label = text.str(), *this; }
  /// Another place, underlined with `-`.
  Diagnostic &at(SourceRange range, const llvm::Twine &text) {
    return secondary.push_back({range, text.str()}), *this;
  }
  /// Further lines: text as it is, a note, a mend.
  Diagnostic &line(const llvm::Twine &text) { return lines.push_back(text.str()), *this; }
  Diagnostic &note(const llvm::Twine &text) { return notes.push_back(text.str()), *this; }
  Diagnostic &help(const llvm::Twine &text, std::optional<Edit> edit = std::nullopt) {
    return helps.push_back({text.str(), std::move(edit)}), *this;
  }
  /// The mend is to write this at a place: "write `text`".
  Diagnostic &write(SourceRange place, const llvm::Twine &text) {
    return help("write `" + text + "`", Edit{place, text.str()});
  }
  /// What stands at the place of the finding, if it has one, is probably a misspelt `name`.
  Diagnostic &didYouMean(llvm::StringRef name) {
    return help("did you mean `" + name + "`?",
                range ? std::optional(Edit{*range, name.str()}) : std::nullopt);
  }
};

/// How diagnostics look.
struct RenderOptions {
  bool colour = false;
};

/// Collects what is found in one file. References returned by `error` stay valid.
class DiagnosticEngine {
public:
  explicit DiagnosticEngine(const SourceFile &file) : file(file) {}

  /// Adds an error or a warning about a place, to which more can be added.
  Diagnostic &error(DiagCode code, SourceRange range, const llvm::Twine &message);
  Diagnostic &warning(DiagCode code, SourceRange range, const llvm::Twine &message);
  /// An error about the file as a whole (no line is shown).
  Diagnostic &error(DiagCode code, const llvm::Twine &message);

  /// Whether there were errors, and how many.
  bool hasErrors() const { return errors != 0; }
  unsigned errorCount() const { return errors; }
  /// The file that they are about.
  const SourceFile &source() const { return file; }

  /// In the order of the text; those at one place in the order reported.
  std::vector<const Diagnostic *> sorted() const;

  /// All of them for a person, with their lines.
  void render(llvm::raw_ostream &os, RenderOptions options = {}) const;
  /// A JSON object for each, for editors and CI; renderJson writes one a line.
  std::vector<llvm::json::Object> toJson() const;
  void renderJson(llvm::raw_ostream &os) const;

private:
  /// Adds a finding.
  Diagnostic &add(Severity severity, DiagCode code, std::optional<SourceRange> range,
                  const llvm::Twine &message);

  const SourceFile &file;
  std::deque<Diagnostic> diagnostics;
  unsigned errors = 0;
};

/// The candidate nearest to `name` by edit distance, none where none is near enough to be meant (a
/// third of its length, at least one edit; letters that have changed places are one). Of equally
/// near ones the first.
std::optional<llvm::StringRef> nearestName(llvm::StringRef name,
                                           llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace attn::frontend
