// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/Ptxas.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llvm;

namespace attn {

static std::string contentsOf(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// Runs a program; what it says goes to the file `log`.
static Error runProgram(StringRef program, ArrayRef<StringRef> args, StringRef log) {
  SmallVector<StringRef> command{program};
  command.append(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {StringRef(""), log, log};
  std::string problem;
  if (sys::ExecuteAndWait(program, command, std::nullopt, redirects, 0, 0, &problem) == 0)
    return Error::success();
  std::string said = contentsOf(log);
  return createStringError(program + " failed: " + (said.empty() ? problem : said));
}

/// Calls `use` with a folder that goes afterwards.
template <typename Result>
static Expected<Result> inTemporaryFolder(function_ref<Expected<Result>(StringRef)> use) {
  SmallString<128> folder;
  if (auto error = sys::fs::createUniqueDirectory("attn-ptxas", folder))
    return createStringError("cannot make a temporary folder: " + error.message());
  scope_exit cleanUp([&] { (void)sys::fs::remove_directories(folder); });
  return use(folder);
}

Expected<std::optional<Ptxas>> Ptxas::find() {
  Ptxas found;
  if (const char *given = std::getenv("ATTN_PTXAS"))
    found.path = given;
  else if (auto path = sys::findProgramByName("ptxas"))
    found.path = *path;
  else if (sys::fs::can_execute("/usr/local/cuda/bin/ptxas"))
    found.path = "/usr/local/cuda/bin/ptxas";
  if (found.path.empty())
    return std::nullopt;
  return inTemporaryFolder<std::optional<Ptxas>>(
      [&](StringRef folder) -> Expected<std::optional<Ptxas>> {
        std::string log = (folder + "/log").str();
        if (Error error = runProgram(found.path, {"--version"}, log))
          return std::move(error);
        // "Cuda compilation tools, release 13.0, V13.0.88"
        std::string said = contentsOf(log);
        StringRef number = StringRef(said).split(", V").second.take_until(
            [](char c) { return c == '\n' || c == '\r'; });
        found.version = ("ptxas " + (number.empty() ? "?" : number)).str();
        return found;
      });
}

Expected<std::string> Ptxas::assemble(StringRef ptx, StringRef chip) const {
  return inTemporaryFolder<std::string>([&](StringRef folder) -> Expected<std::string> {
    std::string input = (folder + "/kernels.ptx").str(), output = (folder + "/cubin").str(),
                log = (folder + "/log").str(), arch = ("-arch=" + chip).str();
    std::error_code problem;
    raw_fd_ostream stream(input, problem);
    stream << ptx;
    stream.close();
    if (problem || stream.has_error()) {
      stream.clear_error();
      return createStringError("cannot write `" + input + "`");
    }
    if (Error error = runProgram(path, {arch, input, "-o", output}, log))
      return std::move(error);
    return contentsOf(output);
  });
}

} // namespace attn
