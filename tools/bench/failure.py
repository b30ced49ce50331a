# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exit codes, as `attn` has them, and the exception that carries one."""

BAD_INPUT, USAGE, DIFFERENT, ENVIRONMENT = 1, 2, 3, 4


class Failure(Exception):
    """Ends the program with a code and a sentence."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
