# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No share of a bench's report on standard input is above 100 %, and the footnote is there exactly where one is marked."""
import re
import sys

text = sys.stdin.read()
assert all(float(share) <= 100 for share in re.findall(r"([0-9.]+)%", text)), text
assert ("~100%" in text) == ("  ~ more than the peak" in text), text
