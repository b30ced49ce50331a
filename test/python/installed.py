# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and tokenizes, or prints what keeps it from that. Usage: installed.py TOKENIZER"""
import sys

import attn


def compile_and_run():
    model = attn.compile("attn 1\nmodel One {\n  dim D = 4\n  entry run(x: [D]) -> y: [D] = x + 1\n}\n", optimize=0)
    print(model.run([0, 1, 2, 3]))


def tokenize():
    tokenizer = attn.Tokenizer(sys.argv[1])
    print(tokenizer.decode(tokenizer.encode("In the beginning").ids))


for body in (compile_and_run, tokenize):
    try:
        body()
    except attn.Error as error:
        print(error)
