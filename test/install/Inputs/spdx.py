# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds a document to what SPDX 2.3 requires of it (clauses 6, 7 and 11), and prints its packages.

usage: spdx.py DOCUMENT
"""
import json
import re
import sys

from license_expression import get_spdx_licensing

REQUIRED = {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"}
OF_PACKAGE = {"name", "SPDXID", "downloadLocation"}
ID = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
LICENSING = get_spdx_licensing()  # of SPDX's list, by Debian's python3-license-expression

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
    declared = package["licenseDeclared"]
    checked = LICENSING.validate(declared)
    assert declared == "NOASSERTION" or (not checked.errors and checked.normalized_expression == declared), (declared, checked.errors)
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
