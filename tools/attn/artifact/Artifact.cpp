// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of an ELF file or an archive to its kind and the description in section
// .attn.description.
#include "Artifact.h"

#include "compiler/emit/Materials.h"
#include "compiler/support/Json.h"
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

/// The contents of a section; nothing where there is none of that name.
static Expected<std::string> sectionText(const object::ELFObjectFile<object::ELF64LE> &object,
                                         StringRef wanted) {
  for (const object::SectionRef &section : object.sections()) {
    auto name = section.getName();
    if (!name) {
      consumeError(name.takeError());
      continue;
    }
    if (*name != wanted)
      continue;
    auto contents = section.getContents();
    if (!contents)
      return contents.takeError();
    return contents->str();
  }
  return std::string();
}

/// An ELF file, of which the description may be missing.
static Expected<Artifact> readElf(StringRef bytes) {
  auto object = object::ELFObjectFile<object::ELF64LE>::create(MemoryBufferRef(bytes, "artifact"));
  if (!object)
    return object.takeError();
  Artifact artifact{formOf(object->getELFFile()), "", "", ""};
  for (auto [section, text] : {std::pair(StringRef(".attn.description"), &artifact.description),
                               std::pair(StringRef(".attn.explanation"), &artifact.explanation),
                               std::pair(StringRef(materialsSection), &artifact.materials)}) {
    auto found = sectionText(*object, section);
    if (!found)
      return found.takeError();
    *text = std::move(*found);
  }
  artifact.description = StringRef(artifact.description).rtrim('\0').str();
  return artifact;
}

static Expected<Artifact> readArchive(StringRef file) {
  // LLVM compares the name of the first member with longer ones, past the end of a file that is cut
  // off there.
  constexpr size_t longestName = 32;
  std::string padded = file.str() + std::string(longestName, '\0');
  StringRef bytes = StringRef(padded).take_front(file.size());
  auto archive = object::Archive::create(MemoryBufferRef(bytes, "artifact"));
  if (!archive)
    return archive.takeError();
  std::optional<Artifact> found;
  bool isCutOff = false;
  llvm::Error error = llvm::Error::success();
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    auto member = child.getBuffer();
    if (!member) {
      consumeError(member.takeError());
      continue;
    }
    // LLVM believes what a member says of its size.
    isCutOff = member->begin() < bytes.begin() || member->begin() > bytes.end() ||
               member->size() > static_cast<size_t>(bytes.end() - member->begin());
    if (isCutOff || (found && !found->materials.empty()))
      break;
    auto own = readElf(*member);
    if (!own) {
      consumeError(own.takeError());
    } else if (found) { // a member of its own
      found->materials = std::move(own->materials);
    } else if (!own->description.empty()) {
      own->form = ArtifactForm::Static;
      found = std::move(*own);
    }
  }
  if (error)
    return std::move(error);
  if (isCutOff)
    return createStringError("it is cut off");
  if (!found)
    return createStringError("none of its members describes one");
  return std::move(*found);
}

Expected<Artifact> readArtifact(StringRef bytes) {
  if (bytes.starts_with("!<arch>\n"))
    return readArchive(bytes);
  if (looksLikeArtifact(bytes)) {
    auto artifact = readElf(bytes);
    if (artifact && artifact->description.empty())
      return createStringError("none of its sections describes one");
    return artifact;
  }
  return createStringError("it is no ELF file and no archive");
}

Expected<json::Object> parseDescription(const Artifact &artifact) {
  auto value = parseJson(artifact.description);
  if (value && value->getAsObject())
    return std::move(*value->getAsObject());
  if (!value)
    consumeError(value.takeError());
  return createStringError("the description of its model is damaged");
}

bool isArtifact(StringRef path) {
  if (!sys::fs::is_regular_file(path)) // what a pipe holds can be read once
    return false;
  constexpr uint64_t magic = 8;
  auto start = MemoryBuffer::getFileSlice(path, magic, 0);
  return start && looksLikeArtifact((*start)->getBuffer());
}

} // namespace attn::tool
