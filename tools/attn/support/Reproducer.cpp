// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An internal error to a folder with the spec and the command that show it, and to a message that
// names it.
#include "Reproducer.h"

#include "Report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

using namespace llvm;

namespace attn::tool {

namespace {
struct Command {
  SmallVector<std::string> arguments;
  std::string specPath, specText;
};
} // namespace

/// That of this thread: a library is called by several.
static Command &command() {
  static thread_local Command instance;
  return instance;
}

void rememberCommand(ArrayRef<const char *> arguments) {
  command().arguments.assign(arguments.begin(), arguments.end());
}

void rememberSpec(StringRef path, StringRef text) {
  command().specPath = path.str();
  command().specText = text.str();
}

/// The folder with the spec; empty where none could be made.
static std::string writeReproducer() {
  SmallString<128> folder;
  if (command().specText.empty() || sys::fs::createUniqueDirectory("attn-reproducer", folder))
    return "";
  std::error_code error;
  std::string path = (folder + "/spec.attn").str();
  raw_fd_ostream stream(path, error);
  if (error)
    return "";
  stream << command().specText;
  stream.close();
  if (!stream.has_error())
    return path;
  stream.clear_error();
  return "";
}

int internalError() {
  std::string path = writeReproducer(), call;
  raw_string_ostream text(call);
  for (const std::string &argument : command().arguments) {
    text << (&argument == command().arguments.begin() ? "attn " : " ");
    sys::printArg(text, argument == command().specPath ? path : argument, /*Quote=*/false);
  }
  std::string help;
  if (!path.empty())
    help = "the spec was copied to " + path + "; report it with this command: " + call;
  return fail(Internal, "this is a mistake in attn, not in the input", help);
}

} // namespace attn::tool
