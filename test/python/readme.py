# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of a Markdown file in fences of Python, as doctests. Usage: readme.py FILE"""
import doctest
import re
import sys

text = "\n".join(re.findall(r"^```python\n(.*?)^```", open(sys.argv[1]).read(), re.M | re.S))
test = doctest.DocTestParser().get_doctest(text, {}, "README", sys.argv[1], 0)
assert test.examples
result = doctest.DocTestRunner().run(test)
sys.exit(result.failed != 0)
