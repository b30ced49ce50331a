# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each code action of all specs of test/errors mends what it says: with its edit made, the finding is gone."""
import collections
import pathlib
import sys

from client import WHOLE, Client, apply_edits, read_text


def main():
    client, mended, wrong = Client(), collections.Counter(), 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.attn")):
        text, uri = read_text(path), path.resolve().as_uri()
        found = client.show(uri, text)
        said = lambda findings: [(f["code"], f["message"].split("\n")[0]) for f in findings]
        actions = client.about("codeAction", uri, range=WHOLE, context={"diagnostics": []})
        for number, action in enumerate(actions):
            assert action["kind"] == "quickfix" and len(action["diagnostics"]) == 1, action
            assert action["diagnostics"][0] in found, action
            changes = action["edit"]["changes"]
            if list(changes) != [uri]:
                continue
            after = client.show(f"untitled:/{path.stem}-{number}.attn", apply_edits(text, changes[uri]))
            finding = said(action["diagnostics"])[0]
            if said(after).count(finding) < said(found).count(finding):
                mended[finding[0]] += 1
            else:
                wrong += 1
                print(f"{path.name}: {action['title']}: {changes[uri]} leaves {finding}")
    client.close()
    print(f"{sum(mended.values())} mends of {len(mended)} codes")
    print(*sorted(mended))
    assert not wrong, f"{wrong} mends mend nothing"


main()
