// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the driver speaks to a person: exit codes, errors, colour.
#pragma once

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

namespace attn::frontend {
class DiagnosticEngine;
} // namespace attn::frontend

namespace attn::tool {

/// The exit codes of `attn`.
enum ExitCode {
  Ok = 0,
  BadInput = 1,    ///< the spec, checkpoint or tensor is wrong
  Usage = 2,       ///< the command line is wrong
  Differs = 3,     ///< a comparison failed
  Environment = 4, ///< an unreadable file, a full disk, no linker, no such device
  Internal = 70
};

/// What a thread's verb says and writes, where it is called as a library and nobody is at a
/// terminal.
class Listener {
public:
  virtual ~Listener() = default;
  /// An error, a warning or a note ("severity"), with the members that `--diagnostics=json` prints.
  virtual void hear(llvm::json::Object finding) = 0;
  /// Bytes for standard output.
  virtual void write(llvm::StringRef bytes) = 0;
};

/// Who hears what this thread says; null: nobody, so that it is printed.
Listener *listener();
void listen(Listener *listener);

/// Errors are written as JSON, one object a line, from now on.
void useJsonDiagnostics();
bool usesJsonDiagnostics();

/// Whether stderr is a terminal that wants colour (`NO_COLOR` unset).
bool wantsColour();

/// Prints `error: message`, with `= help: ...` where there is one, and returns `code`.
int fail(ExitCode code, const llvm::Twine &message, const llvm::Twine &help = "");

/// Prints a message of the runtime, which begins with `error[CODE]: `, and returns `code`.
int failWithMessage(ExitCode code, llvm::StringRef message);

/// Prints an error or warning of MLIR's, with its place in the spec ("vit.attn:16:5", or nothing)
/// and notes.
void printFinding(bool isError, const llvm::Twine &message, llvm::StringRef file, unsigned line,
                  unsigned column, llvm::ArrayRef<std::string> notes);

/// Prints `note: text`: what somebody may want to know, and is no mistake.
void note(const llvm::Twine &text);

/// Prints what was done, for a person who waits; text with a newline at its end.
void say(const llvm::Twine &text);

/// Prints what was found in a spec, on stderr.
void printDiagnostics(const frontend::DiagnosticEngine &diagnostics);

/// Usage error for what a later version will do.
int notSupportedYet(const llvm::Twine &what);

/// Flushes stdout; exit code `code`, or Environment where what was printed could not be written.
int finish(int code);

} // namespace attn::tool
