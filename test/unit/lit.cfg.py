# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

import lit.formats

config.name = "attn-unit"
config.test_format = lit.formats.GoogleTest(".", "Test")
config.suffixes = []
config.test_source_root = os.path.join(config.attn_build, "test", "unit")
config.test_exec_root = config.test_source_root
for name in ("ATTN_FULL_TESTS", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
