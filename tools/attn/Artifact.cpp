// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Artifact.h"

#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;

namespace attn::tool {

bool looksLikeArtifact(StringRef bytes) {
  return bytes.starts_with("\x7f"
                           "ELF") ||
         bytes.starts_with("!<arch>\n");
}

StringRef formName(ArtifactForm form) {
  switch (form) {
  case ArtifactForm::Executable:
    return "executable";
  case ArtifactForm::Shared:
    return "shared library";
  case ArtifactForm::Static:
    return "static library";
  case ArtifactForm::Object:
    return "object";
  }
  return "";
}

/// Position-independent executables and shared libraries are of one ELF type; only the first name a
/// loader.
static ArtifactForm formOf(const object::ELF64LEFile &file) {
  if (file.getHeader().e_type == ELF::ET_REL)
    return ArtifactForm::Object;
  auto headers = file.program_headers();
  if (!headers) {
    consumeError(headers.takeError());
    return ArtifactForm::Shared;
  }
  for (const auto &header : *headers)
    if (header.p_type == ELF::PT_INTERP)
      return ArtifactForm::Executable;
  return ArtifactForm::Shared;
}

static std::optional<Artifact> readElf(StringRef bytes) {
  auto object = object::ELFObjectFile<object::ELF64LE>::create(MemoryBufferRef(bytes, "artifact"));
  if (!object) {
    consumeError(object.takeError());
    return std::nullopt;
  }
  for (const object::SectionRef &section : object->sections()) {
    auto name = section.getName();
    if (!name) {
      consumeError(name.takeError());
      continue;
    }
    if (*name != ".attn.description")
      continue;
    auto contents = section.getContents();
    if (!contents) {
      consumeError(contents.takeError());
      return std::nullopt;
    }
    return Artifact{formOf(object->getELFFile()), contents->rtrim('\0').str()};
  }
  return std::nullopt;
}

static std::optional<Artifact> readArchive(StringRef bytes) {
  auto archive = object::Archive::create(MemoryBufferRef(bytes, "artifact"));
  if (!archive) {
    consumeError(archive.takeError());
    return std::nullopt;
  }
  std::optional<Artifact> found;
  Error error = Error::success();
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    auto member = child.getBuffer();
    if (!member)
      consumeError(member.takeError());
    else if (!found && (found = readElf(*member)))
      found->form = ArtifactForm::Static;
  }
  consumeError(std::move(error));
  return found;
}

std::optional<Artifact> readArtifact(StringRef bytes) {
  if (bytes.starts_with("!<arch>\n"))
    return readArchive(bytes);
  return looksLikeArtifact(bytes) ? readElf(bytes) : std::nullopt;
}

} // namespace attn::tool
