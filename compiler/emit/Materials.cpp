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
enum class Part { Pictures, Sounds, Texts, Compiler, Page };

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

/// Where a material is found by package URL.
std::string packageUrl(const Material &material) {
  if (material.part != Part::Page)
    return material.package.empty()
               ? ""
               : formatv("pkg:deb/debian/{0}@{1}", material.package, material.version).str();
  std::string name = material.name.str(); // of a scope: @ is written %40
  return "pkg:npm/" + (name[0] == '@' ? "%40" + name.substr(1) : name) + "@" +
         material.version.str();
}

json::Object describe(const Material &material) {
  json::Object made = package(material.name, material.version, material.licence);
  if (std::string url = packageUrl(material); !url.empty())
    made["externalRefs"] = json::Array{json::Object{{"referenceCategory", "PACKAGE-MANAGER"},
                                                    {"referenceType", "purl"},
                                                    {"referenceLocator", std::move(url)}}};
  return made;
}

json::Object relationship(StringRef from, StringRef type, StringRef to) {
  return json::Object{{"spdxElementId", from.str()},
                      {"relationshipType", type.str()},
                      {"relatedSpdxElement", to.str()}};
}

/// A document about `subject`, which has in it what `holds` says, and no time.
std::string document(json::Object subject, StringRef space, function_ref<bool(Part)> holds) {
  std::string own = subject.getString("SPDXID")->str(), name = subject.getString("name")->str();
  json::Array packages{std::move(subject)};
  json::Array relationships{relationship("SPDXRef-DOCUMENT", "DESCRIBES", own)};
  for (const Material &material : materials) {
    if (!holds(material.part))
      continue;
    packages.push_back(describe(material));
    relationships.push_back(relationship(
        own, material.part == Part::Page ? "CONTAINS" : "STATIC_LINK", identifier(material.name)));
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
  bool hasTexts = options.takesText && options.kind == ArtifactKind::Executable;
  // Who made the model has not said under which terms.
  json::Object subject = package(options.symbol, "", "NOASSERTION");
  subject["primaryPackagePurpose"] =
      options.kind == ArtifactKind::Executable ? "APPLICATION" : "LIBRARY";
  subject["comment"] =
      "compiled by attn " ATTN_VERSION ", whose runtime (" + ownLicence.str() + ") is part of it";
  std::string space = formatv("urn:attn:{0}:{1:x-}", options.symbol, xxh3_64bits(object));
  return document(std::move(subject), space, [&](Part part) {
    return (part == Part::Pictures && options.takesImage) ||
           (part == Part::Sounds && options.takesSound) || (part == Part::Texts && hasTexts);
  });
}

std::string toolMaterials() {
  return document(package("attn", ATTN_VERSION, ownLicence), "urn:attn:tools:" ATTN_VERSION,
                  [](Part) { return true; });
}

} // namespace attn
