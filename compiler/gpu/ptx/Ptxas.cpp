// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX to a cubin: finds ptxas, runs it in a temporary folder, and reads its log.
#include "compiler/gpu/ptx/Ptxas.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
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
static Expected<Result> inTemporaryFolder(llvm::function_ref<Expected<Result>(StringRef)> use) {
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

/// The number before `unit`, "8 bytes spill stores", or 0.
static int64_t numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find(unit);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  int64_t number = 0;
  before = before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1));
  before.getAsInteger(10, number);
  return number;
}

/// The name in "... function 'name' ...", or nothing.
static StringRef functionIn(StringRef line) {
  StringRef rest = line.split("function").second.ltrim(" :");
  return rest.consume_front("'") ? rest.take_until([](char c) { return c == '\''; }) : StringRef();
}

void readPtxasLog(StringRef log, Assembly &assembly) {
  std::vector<AssembledKernel> &kernels = assembly.kernels;
  auto named = [&](StringRef name) -> AssembledKernel & {
    for (AssembledKernel &kernel : kernels)
      if (kernel.name == name)
        return kernel;
    kernels.push_back({});
    kernels.back().name = name.str();
    return kernels.back();
  };
  std::string current;
  for (StringRef line : llvm::split(log, '\n')) {
    line = line.trim();
    StringRef function = functionIn(line);
    size_t code = line.find("(C751");
    if (code != StringRef::npos || line.starts_with("ptxas warning")) {
      StringRef text = line.split(':').second.ltrim();
      (function.empty() ? assembly.warnings : named(function).warnings).push_back(text.str());
    } else if (line.contains("Compiling entry function")) {
      current = function.str();
      named(current);
    } else if (line.contains("bytes stack frame") && !current.empty()) {
      AssembledKernel &kernel = named(current);
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStores = numberBefore(line, "bytes spill stores");
      kernel.spillLoads = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ") && !current.empty()) {
      AssembledKernel &kernel = named(current);
      kernel.registers = numberBefore(line, "registers");
      kernel.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
}

Expected<Assembly> Ptxas::assemble(StringRef ptx, StringRef chip, bool hasLines) const {
  return inTemporaryFolder<Assembly>([&](StringRef folder) -> Expected<Assembly> {
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
    SmallVector<StringRef> arguments{"-v", arch, input, "-o", output};
    if (hasLines)
      arguments.push_back("-lineinfo");
    if (Error error = runProgram(path, arguments, log))
      return std::move(error);
    Assembly assembly;
    assembly.cubin = contentsOf(output);
    readPtxasLog(contentsOf(log), assembly);
    return assembly;
  });
}

} // namespace attn
