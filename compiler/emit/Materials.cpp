// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of cmake/AttnMaterials.cmake to documents of SPDX 2.3 (ISO/IEC 5962).
#include "compiler/emit/Materials.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace attn {
namespace {

/// What a material goes into.
enum class Part { Pictures, Sounds, Texts, Server, Compiler, Page };

struct Material {
  StringRef name, version, licence, package; ///< of Debian; empty: of npm
  Part part;
};

constexpr Material materials[] = {
#define ATTN_MATERIAL(NAME, VERSION, LICENCE, PACKAGE, PART)                                       \
  {NAME, VERSION, LICENCE, PACKAGE, Part::PART},
#include "compiler/emit/Materials.inc"
#undef ATTN_MATERIAL
};

constexpr StringLiteral ownLicence = "Apache-2.0 WITH LLVM-exception";

/// Identifiers have letters, digits, dots and hyphens.
std::string identifier(StringRef name) {
  std::string text = "SPDXRef-Package-";
  for (char c : name)
    text += isAlnum(c) || c == '.' ? c : '-';
  return text;
}

json::Object package(StringRef name, StringRef version, StringRef licence) {
  json::Object made{{"SPDXID", identifier(name)},        {"name", name.str()},
                    {"downloadLocation", "NOASSERTION"}, {"filesAnalyzed", false},
                    {"licenseConcluded", "NOASSERTION"}, {"licenseDeclared", licence.str()},
                    {"copyrightText", "NOASSERTION"}};
  if (!version.empty())
    made["versionInfo"] = version.str();
  return made;
}

/// A text as a package URL holds it.
std::string percentEncoded(StringRef text) {
  std::string made;
  for (char c : text)
    if (isAlnum(c) || StringRef("-._~/").contains(c))
      made += c;
    else
      made += formatv("%{0:X-2}", static_cast<uint8_t>(c)).str();
  return made;
}

/// Where a material is found, as a package URL; empty where nobody knows.
std::string packageUrl(const Material &material) {
  if (material.part == Part::Page)
    return "pkg:npm/" + percentEncoded(material.name) + "@" + percentEncoded(material.version);
  if (material.package.empty())
    return "";
  return "pkg:deb/debian/" + percentEncoded(material.package) + "@" +
         percentEncoded(material.version);
}

json::Object describe(const Material &material) {
  json::Object made = package(material.name, material.version, material.licence);
  if (std::string url = packageUrl(material); !url.empty())
    made["externalRefs"] = json::Array{json::Object{{"referenceCategory", "PACKAGE-MANAGER"},
                                                    {"referenceType", "purl"},
                                                    {"referenceLocator", std::move(url)}}};
  return made;
}

/// How what is described has materials of a part in it. Who links a static library links those,
/// too.
StringRef relationOf(Part part, bool isLinked) {
  if (part == Part::Page)
    return "CONTAINS";
  return isLinked ? "STATIC_LINK" : "DEPENDS_ON";
}

json::Object relationship(StringRef from, StringRef type, StringRef to) {
  return json::Object{{"spdxElementId", from.str()},
                      {"relationshipType", type.str()},
                      {"relatedSpdxElement", to.str()}};
}

/// A document about `subject`, which has in it what `holds` says, and no time.
std::string document(json::Object subject, StringRef space, bool isLinked,
                     function_ref<bool(Part)> holds) {
  std::string own = subject.getString("SPDXID")->str(), name = subject.getString("name")->str();
  json::Array packages{std::move(subject)};
  json::Array relationships{relationship("SPDXRef-DOCUMENT", "DESCRIBES", own)};
  for (const Material &material : materials) {
    if (!holds(material.part))
      continue;
    packages.push_back(describe(material));
    relationships.push_back(
        relationship(own, relationOf(material.part, isLinked), identifier(material.name)));
  }
  json::Object made{
      {"spdxVersion", "SPDX-2.3"},
      {"dataLicense", "CC0-1.0"},
      {"SPDXID", "SPDXRef-DOCUMENT"},
      {"name", name},
      {"documentNamespace", space.str()},
      {"creationInfo", json::Object{{"created", "1970-01-01T00:00:00Z"},
                                    {"creators", json::Array{"Tool: attn-" ATTN_VERSION}}}},
      {"packages", std::move(packages)},
      {"relationships", std::move(relationships)}};
  return formatv("{0}", json::Value(std::move(made)));
}

} // namespace

std::string artifactMaterials(StringRef object, const LinkOptions &options) {
  // Who made the model has not said under which terms.
  json::Object subject = package(options.symbol, "", "NOASSERTION");
  subject["primaryPackagePurpose"] =
      options.kind == ArtifactKind::Executable ? "APPLICATION" : "LIBRARY";
  subject["comment"] =
      "compiled by attn " ATTN_VERSION ", whose runtime (" + ownLicence.str() + ") is part of it";
  std::string space = formatv("urn:attn:{0}:{1:x-}", options.symbol, xxh3_64bits(object));
  bool isLinked = options.kind == ArtifactKind::Executable || options.kind == ArtifactKind::Shared;
  return document(std::move(subject), space, isLinked, [&](Part part) {
    return (part == Part::Pictures && options.takesImage) ||
           (part == Part::Sounds && options.takesSound) ||
           (part == Part::Texts && options.hasText()) ||
           (part == Part::Server && options.hasServer);
  });
}

std::string toolMaterials() {
  return document(package("attn", ATTN_VERSION, ownLicence), "urn:attn:tools:" ATTN_VERSION,
                  /*isLinked=*/true, [](Part) { return true; });
}

} // namespace attn
