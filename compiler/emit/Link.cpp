// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's object and the runtime's archives to an executable, a shared library, a static library
// or one object. The linker gets temporary files in a folder of its own, so that no path of the
// machine gets into the result.
#include "compiler/emit/Link.h"

#include "compiler/emit/LinkTools.h"
#include "compiler/emit/Materials.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attn {

using Buffer = std::unique_ptr<MemoryBuffer>;

static std::string archivePath(const LinkOptions &options, StringRef name) {
  SmallString<128> path(options.runtimeDir);
  sys::path::append(path, options.architecture->folder(), name);
  return path.str().str();
}

/// The archives of the runtime that an artifact carries as a whole.
static SmallVector<std::string> libraryArchives(const LinkOptions &options) {
  SmallVector<std::string> archives{archivePath(options, "libattn_rt.a")};
  if (options.takesImage)
    archives.push_back(archivePath(options, "libattn_image.a"));
  if (options.takesSound)
    archives.push_back(archivePath(options, "libattn_sound.a"));
  if (options.kind == ArtifactKind::Shared && options.hasText())
    archives.push_back(archivePath(options, "libattn_text.a"));
  return archives;
}

/// An artifact needs no library but libc, libm and pthread: others are linked as archives.
static void addSystemLibraries(const LinkOptions &options, SmallVectorImpl<std::string> &args) {
  auto add = [&](std::initializer_list<StringRef> names) {
    for (StringRef name : names)
      args.push_back(archivePath(options, name));
  };
  if (options.takesImage)
    add({"libpng.a", "libjpeg.a", "libz.a"});
  if (options.takesSound)
    add({"libFLAC.a", "libogg.a"});
  if (options.hasText())
    add({"libpcre2-8.a", "libutf8proc.a"});
  if (options.hasServer)
    add({"libevent_extra.a", "libevent_core.a"});
  args.append({"-Wl,--as-needed", "-lm", "-lpthread"});
}

/// What every kind of artifact is linked from.
static SmallVector<LinkerInput> modelInputs(MemoryBufferRef object, StringRef materials) {
  return {{"model.o", object.getBuffer()}, {"materials.o", materials}};
}

static Expected<Buffer> linkExecutable(MemoryBufferRef object, StringRef materials,
                                       const LinkOptions &options) {
  SmallVector<std::string> args{"model.o", "materials.o", "-Wl,--start-group",
                                archivePath(options, "libattn_main.a")};
  if (options.takesText)
    args.append({options.takesSound
                     ? "-Wl,-u,attn_main_prompt,-u,attn_main_rows,-u,attn_main_speech"
                     : "-Wl,-u,attn_main_prompt,-u,attn_main_rows",
                 archivePath(options, "libattn_prompt.a"), archivePath(options, "libattn_text.a")});
  if (options.hasServer)
    args.append({"-Wl,-u,attn_main_serve", archivePath(options, "libattn_serve.a")});
  if (options.hasServer && options.takesText)
    args.append({"-Wl,-u,attn_serve_texts_open", archivePath(options, "libattn_serve_text.a")});
  args.push_back("-Wl,--end-group");
  if (options.findsObjects)
    args.append({"-Wl,-u,attn_main_draw", archivePath(options, "libattn_drawing.a")});
  if (options.takesImage)
    args.append({"-Wl,-u,attn_image_load", archivePath(options, "libattn_image.a")});
  if (options.takesSound)
    args.append({"-Wl,-u,attn_sound_load", archivePath(options, "libattn_sound.a")});
  args.push_back(archivePath(options, "libattn_rt.a"));
  addSystemLibraries(options, args);
  // `main` of libattn_main reads the tables by this name.
  args.push_back("-Wl,--defsym=attn_main_model=" + options.symbol);
  args.append({"-pie", "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,-z,noexecstack"});
  return runLinker(*options.architecture, modelInputs(object, materials), args);
}

/// libpng.a and libjpeg.a are position-independent but for one thing: in their default error
/// handlers they read the C library's `stderr` as if it were in the same file. The runtime sets
/// handlers of its own, so those are never called; a `stderr` that nobody outside sees satisfies
/// the linker.
static constexpr StringRef ownStream = R"(
        .section .data.rel.ro,"aw",@progbits
        .globl  stderr
        .hidden stderr
        .type   stderr,@object
        .size   stderr,8
        .balign 8
stderr: .quad   0
        .section .note.GNU-stack,"",@progbits
)";

/// The C API and the model's tables; names of the archives stay inside. The tables have a name that
/// is the same for all models, too, by which a program finds them that loads a library.
static Expected<Buffer> linkShared(MemoryBufferRef object, StringRef materials,
                                   const LinkOptions &options) {
  SmallVector<LinkerInput> inputs = modelInputs(object, materials);
  inputs.push_back({"exports", "{ global: attn_*; local: *; };\n"});
  SmallVector<std::string> args{"-shared", "model.o", "materials.o"};
  if (options.takesImage) {
    inputs.push_back({"stream.s", ownStream});
    args.push_back("stream.s");
  }
  args.push_back("-Wl,--whole-archive");
  args.append(libraryArchives(options));
  args.push_back("-Wl,--no-whole-archive");
  addSystemLibraries(options, args);
  args.push_back("-Wl,--defsym=attn_model=" + options.symbol);
  args.append({"-Wl,-Bsymbolic", "-Wl,--version-script=exports", "-Wl,--gc-sections",
               "-Wl,--build-id=none", "-Wl,-z,defs", "-Wl,-z,noexecstack"});
  return runLinker(*options.architecture, inputs, args);
}

/// One relocatable object. What the runtime shares between its own files only is made local, so
/// that it cannot meet other names of a program.
static Expected<Buffer> linkObject(MemoryBufferRef object, StringRef materials,
                                   const LinkOptions &options) {
  SmallVector<std::string> args{"-r", "-nostdlib", "model.o", "materials.o", "-Wl,--whole-archive"};
  args.append(libraryArchives(options));
  args.push_back("-Wl,--no-whole-archive");
  auto linked = runLinker(*options.architecture, modelInputs(object, materials), args);
  if (!linked)
    return linked.takeError();
  return localizeHidden(**linked);
}

static Expected<Buffer> makeArchive(MemoryBufferRef object, StringRef materials,
                                    const LinkOptions &options) {
  std::vector<NewArchiveMember> members;
  std::string name = options.symbol + ".o"; // outlives its member
  members.emplace_back(MemoryBufferRef(object.getBuffer(), name));
  members.emplace_back(MemoryBufferRef(materials, "materials.o"));
  std::vector<Buffer> files; // what the members point into
  std::vector<std::unique_ptr<object::Archive>> archives;
  for (const std::string &path : libraryArchives(options)) {
    auto file = MemoryBuffer::getFile(path);
    if (!file)
      return createStringError("cannot read `" + path + "`: " + file.getError().message());
    files.push_back(std::move(*file));
    auto archive = object::Archive::create(*files.back());
    if (!archive)
      return archive.takeError();
    archives.push_back(std::move(*archive));
    Error error = Error::success();
    for (const object::Archive::Child &child : archives.back()->children(error)) {
      auto member = NewArchiveMember::getOldMember(child, /*Deterministic=*/true);
      if (!member) {
        consumeError(std::move(error));
        return member.takeError();
      }
      members.push_back(std::move(*member));
    }
    if (error)
      return std::move(error);
  }
  return writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                              /*Deterministic=*/true, /*Thin=*/false);
}

/// A missing archive, said before a linker says it in its own words.
static Error checkArchives(const LinkOptions &options) {
  SmallVector<std::string> needed = libraryArchives(options);
  if (options.kind == ArtifactKind::Executable)
    needed.push_back(archivePath(options, "libattn_main.a"));
  if (options.hasServer)
    needed.push_back(archivePath(options, "libattn_serve.a"));
  if (options.hasServer && options.takesText)
    needed.push_back(archivePath(options, "libattn_serve_text.a"));
  for (const std::string &path : needed)
    if (!sys::fs::exists(path))
      return createStringError("the runtime library `" + path +
                               "` is missing\n  = help: it is installed beside `attn`: "
                               "<folder of attn>/../lib/attn");
  return Error::success();
}

/// For another architecture than this machine's, the runtime is built without decoders of pictures
/// and sounds, and perhaps without tokenizers.
static bool hasArchive(const LinkOptions &options, StringRef name) {
  return options.architecture->isHost() || sys::fs::exists(archivePath(options, name));
}

Expected<Buffer> link(MemoryBufferRef object, const LinkOptions &given) {
  LinkOptions options = given;
  options.takesImage &= hasArchive(options, "libattn_image.a");
  options.findsObjects &= options.takesImage;
  options.takesSound &= hasArchive(options, "libattn_sound.a");
  options.takesText &= hasArchive(options, "libattn_text.a");
  if (Error error = checkArchives(options))
    return std::move(error);
  auto materials =
      makeSectionObject(object, materialsSection, artifactMaterials(object.getBuffer(), options));
  if (!materials)
    return materials.takeError();
  switch (options.kind) {
  case ArtifactKind::Executable:
    return linkExecutable(object, *materials, options);
  case ArtifactKind::Shared:
    return linkShared(object, *materials, options);
  case ArtifactKind::Static:
    return makeArchive(object, *materials, options);
  case ArtifactKind::Object:
    return linkObject(object, *materials, options);
  }
  return nullptr;
}

/// The file that this code was loaded from: a program, or libattn-compiler.so.
static std::string ownFile() {
  auto here = reinterpret_cast<uintptr_t>(&ownFile); // of code: zeroed data has no file
  auto maps = MemoryBuffer::getFileAsStream("/proc/self/maps");
  for (StringRef line : maps ? split((*maps)->getBuffer(), '\n') : split("", '\n')) {
    uintptr_t begin, end; // "BEGIN-END r-xp OFFSET DEVICE INODE   PATH"
    StringRef rest = line;
    if (rest.consumeInteger(16, begin) || !rest.consume_front("-") || rest.consumeInteger(16, end))
      continue;
    if (size_t path = rest.find('/'); here >= begin && here < end && path != StringRef::npos)
      return rest.substr(path).str();
  }
  return sys::fs::getMainExecutable("attn", reinterpret_cast<void *>(&ownFile));
}

std::string defaultRuntimeDir() {
  static const std::string file = ownFile();
  SmallString<128> path(file);
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "lib", "attn");
  sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

} // namespace attn
