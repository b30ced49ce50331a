# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# fish completes the words of `attn` as its table of options says. Installed as share/fish/vendor_completions.d/attn.fish.
complete -c attn -a '(attn --complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
