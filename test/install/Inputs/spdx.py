# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds a document to what SPDX 2.3 requires of it (clauses 6, 7 and 11), and prints its packages.

usage: spdx.py DOCUMENT
"""
import json
import re
import sys

REQUIRED = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}
OF_PACKAGE = {"name", "SPDXID", "downloadLocation"}
ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
# Of a licence expression, with the identifiers of SPDX's list that occur.
LICENCES = {"Apache-2.0", "BSD-3-Clause", "GPL-3.0-or-later", "IJG", "MIT", "Unicode-DFS-2015", "Zlib", "libpng-2.0"}
EXCEPTIONS = {"LLVM-exception", "GCC-exception-3.1"}

with open(sys.argv[1]) as file:
    document = json.load(file)
assert REQUIRED <= document.keys(), REQUIRED - document.keys()
assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
assert re.fullmatch(r"[a-z]+:[^#\s]+", document["documentNamespace"])
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"])
assert all(re.match("(Tool|Organization|Person): ", creator) for creator in document["creationInfo"]["creators"])

packages = {package["SPDXID"]: package for package in document["packages"]}
assert len(packages) == len(document["packages"]), "an identifier twice"
for own, package in packages.items():
    assert OF_PACKAGE <= package.keys() and ID.fullmatch(own), own
    assert package["filesAnalyzed"] is False
    for term in re.split(" AND | OR ", package["licenseDeclared"]):
        licence, _, exception = term.partition(" WITH ")
        assert licence in LICENCES | {"NOASSERTION"} and (not exception or exception in EXCEPTIONS), term
    for reference in package.get("externalRefs", []):
        assert reference["referenceType"] == "purl" and reference["referenceLocator"].startswith("pkg:")

first, *others = document["relationships"]
assert first["spdxElementId"] == "SPDXRef-DOCUMENT" and first["relationshipType"] == "DESCRIBES"
subject = packages.pop(first["relatedSpdxElement"])
print(" ".join([subject["name"], subject.get("versionInfo", "")]).strip() + ", " + subject.get("primaryPackagePurpose", ""))
for relationship in others:
    assert relationship["spdxElementId"] == subject["SPDXID"]
    package = packages.pop(relationship["relatedSpdxElement"])
    place = ", ".join(reference["referenceLocator"] for reference in package.get("externalRefs", []))
    print(f"{relationship['relationshipType']} {package['name']} {package.get('versionInfo', '')}, {package['licenseDeclared']}, {place}")
assert not packages, "packages without a relationship"
