// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program for another machine: compiled into a temporary folder, given its inputs as files, run
// by a command, its outputs read back.
#include "Emulator.h"

#include "base/Error.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/ModelInfo.h"
#include "io/Npy.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Progress.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace llvm;

namespace attn::tool {

Emulator::Emulator(const std::string &command) {
  SmallVector<StringRef> parts;
  StringRef(command).split(parts, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    words.push_back(part.str());
}

Emulator::~Emulator() {
  if (!folder.empty())
    (void)sys::fs::remove_directories(folder);
}

int Emulator::build(Spec &spec, const CompileOptions &options) {
  auto program = words.empty() ? std::error_code() : sys::findProgramByName(words.front());
  if (!program)
    return fail(Environment,
                "`--emulator`: `" + (words.empty() ? "" : words.front()) + "` is no program",
                "install one (Debian: apt install qemu-user), and pass it with its options");
  words.front() = *program;
  SmallString<128> path;
  if (auto error = sys::fs::createUniqueDirectory("attn-emulated", path))
    return fail(Environment, "cannot make a temporary folder: " + error.message());
  folder = path.str().str();
  DiagnosticPrinter printer(spec.context());
  auto object = compileToObject(spec.module(), options, Progress());
  if (!object)
    return printer.failure();
  LinkOptions linking;
  linking.symbol = modelSymbol(spec.module());
  linking.runtimeDir = defaultRuntimeDir();
  linking.architecture = &options.targets.architecture();
  auto linked = link(*object, linking);
  if (!linked)
    return fail(Environment, toString(linked.takeError()));
  words.push_back(folder + "/program");
  return writeOutput(words.back(), (*linked)->getBuffer(), /*isExecutable=*/true);
}

int Emulator::run(const attn_abi_entry &entry, const attn_tensor *inputs,
                  std::vector<Numbers> &outputs) {
  std::vector<std::string> command = words;
  command.insert(command.end(), common.begin(), common.end());
  command.insert(command.end(), {"--entry", entry.name});
  auto fileOf = [&](StringRef kind, int32_t i) {
    return folder + "/" + kind.str() + std::to_string(i) + ".npy";
  };
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    attn::Error error;
    if (attn::writeNpy(fileOf("input", i).c_str(), inputs[i], error))
      return failWithMessage(Environment, error.text.c_str());
    command.insert(command.end(), {"--input", entry.inputs[i].name + ("=" + fileOf("input", i))});
  }
  for (int32_t i = 0; i < entry.outputCount; ++i)
    command.insert(command.end(),
                   {"--output", entry.outputs[i].name + ("=" + fileOf("output", i))});
  std::string problem;
  SmallVector<StringRef> arguments(command.begin(), command.end());
  if (int code = sys::ExecuteAndWait(words.front(), arguments, std::nullopt, {}, 0, 0, &problem))
    return fail(Environment, "`" + join(arguments, " ") + "` failed: " +
                                 (problem.empty() ? "exit code " + std::to_string(code) : problem));
  for (int32_t i = 0; i < entry.outputCount; ++i) {
    Numbers made;
    if (int code = readNumbers(fileOf("output", i), made))
      return code;
    made.name = entry.outputs[i].name;
    outputs.push_back(std::move(made));
  }
  return Ok;
}

} // namespace attn::tool
