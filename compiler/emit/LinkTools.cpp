// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that linking takes: finds a C compiler that calls the linker, runs it in a folder of
// its own, makes hidden symbols of an object local, and objects of one section.
#include "compiler/emit/LinkTools.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/ObjectYAML/yaml2obj.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace attn {

static Expected<std::string> findLinker(const CpuArchitecture &architecture) {
  SmallVector<std::string> names = architecture.linkers();
  for (StringRef name : names)
    if (auto path = sys::findProgramByName(name)) {
      SmallString<128> absolute(*path); // the linker runs in another folder
      (void)sys::fs::make_absolute(absolute);
      return absolute.str().str();
    }
  if (!architecture.isHost())
    return createStringError("no linker for " + architecture.name + ": `" + names.front() +
                             "` is in no folder of PATH\n  = help: install it (Debian: apt "
                             "install " +
                             architecture.package + "), or pass --emit=static, which needs none");
  return createStringError(
      "no linker: none of cc, clang-22, clang and gcc is in a folder of PATH\n"
      "  = help: install one (Debian: apt install gcc), or pass --emit=static, which needs none");
}

static Error writeFile(StringRef path, StringRef contents) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error) {
    stream << contents;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return createStringError("cannot write `" + path + "`: " + error.message());
  return Error::success();
}

static std::string quoteCommand(ArrayRef<StringRef> args) {
  std::string text;
  for (StringRef arg : args)
    text += (text.empty() ? "" : " ") + arg.str();
  return text;
}

/// Runs a program with `folder` as its working folder, so that no path of this machine can get into
/// what it writes. A shell enters the folder: this process has other threads. Both outputs go to
/// `log`.
static int runIn(StringRef folder, ArrayRef<StringRef> args, StringRef log, std::string &problem) {
  SmallVector<StringRef> command{"sh", "-c", "cd \"$0\" && exec \"$@\"", folder};
  command.append(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {StringRef(""), log, log};
  return sys::ExecuteAndWait("/bin/sh", command, std::nullopt, redirects, 0, 0, &problem);
}

/// Whether what is linked may have found no room; linkers do not always say so.
static bool isFull(StringRef folder, ArrayRef<LinkerInput> inputs) {
  uint64_t needed = 1 << 20;
  for (const LinkerInput &input : inputs)
    needed += 2 * input.contents.size();
  auto space = sys::fs::disk_space(folder);
  return space && space->available < needed;
}

Expected<std::unique_ptr<MemoryBuffer>> runLinker(const CpuArchitecture &architecture,
                                                  ArrayRef<LinkerInput> inputs,
                                                  ArrayRef<std::string> args) {
  auto linker = findLinker(architecture);
  if (!linker)
    return linker.takeError();
  SmallString<128> folder;
  if (auto error = sys::fs::createUniqueDirectory("attn-link", folder)) {
    SmallString<128> parent;
    sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
    return createStringError("cannot make a temporary folder in `" + parent +
                             "`: " + error.message() + "\n  = help: name another by TMPDIR");
  }
  if (auto error = sys::fs::make_absolute(folder)) // TMPDIR need not be
    return createStringError("cannot find `" + folder + "`: " + error.message());
  scope_exit cleanUp([&] { (void)sys::fs::remove_directories(folder); });
  auto inFolder = [&](StringRef name) { return (folder + "/" + name).str(); };
  for (const LinkerInput &input : inputs)
    if (Error error = writeFile(inFolder(input.name), input.contents))
      return std::move(error);
  SmallVector<StringRef> command{*linker};
  for (const std::string &arg : args)
    command.push_back(arg);
  command.append({"-o", "output"});
  std::string problem, log = inFolder("log");
  int code = runIn(folder, command, log, problem);
  if (code != 0 && isFull(folder, inputs))
    return createStringError("linking failed: no space is left for temporary files in `" +
                             sys::path::parent_path(folder) +
                             "`\n  = help: free some, or name another folder by TMPDIR");
  if (code != 0) {
    auto said = MemoryBuffer::getFile(log);
    return createStringError("linking failed: `" + quoteCommand(command) + "`\n" +
                             (said ? (*said)->getBuffer().rtrim().str() : problem));
  }
  auto output = MemoryBuffer::getFile(inFolder("output"), /*IsText=*/false,
                                      /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!output)
    return createStringError("the linker wrote nothing: " + output.getError().message());
  return std::move(*output);
}

Expected<std::unique_ptr<MemoryBuffer>> localizeHidden(const MemoryBuffer &object) {
  auto binary = object::ObjectFile::createObjectFile(object.getMemBufferRef());
  if (!binary)
    return binary.takeError();
  objcopy::ConfigManager config;
  config.ELF.LocalizeHidden = true;
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **binary, stream))
    return std::move(error);
  return std::make_unique<SmallVectorMemoryBuffer>(std::move(bytes), "object",
                                                   /*RequiresNullTerminator=*/false);
}

Expected<std::string> makeSectionObject(MemoryBufferRef model, StringRef name, StringRef contents) {
  auto file = object::ELFFile<object::ELF64LE>::create(model.getBuffer());
  if (!file)
    return file.takeError();
  std::string yaml = formatv(
      "--- !ELF\n"
      "FileHeader: {{ Class: ELFCLASS64, Data: ELFDATA2LSB, OSABI: ELFOSABI_GNU, Type: ET_REL, "
      "Machine: {0:x} }\n"
      "Sections:\n"
      "  - {{ Name: {1}, Type: SHT_PROGBITS, Flags: [ SHF_GNU_RETAIN ], Content: '{2}' }\n"
      "  - {{ Name: .note.GNU-stack, Type: SHT_PROGBITS }\n",
      uint16_t(file->getHeader().e_machine), name, toHex(contents));
  yaml::Input input(yaml);
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  std::string problem;
  auto note = [&](const Twine &text) { problem = text.str(); };
  if (!yaml::convertYAML(input, stream, note))
    return createStringError(problem);
  return bytes.str().str();
}

} // namespace attn
