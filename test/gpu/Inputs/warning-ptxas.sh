#!/bin/sh
# In the assembler's place where there is none: says of each kernel of a .ptx file what `ptxas -v` says, of the first one that it spills, of
# the second that its products are serialized. The last argument is the output.
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 1.2, V1.2.3"
  exit
fi
for word in "$@"; do
  case $word in
  *.ptx) input=$word ;;
  esac
  output=$word
done
echo cubin >"$output"
echo "ptxas info    : 2688 bytes gmem"
spilled=8
sed -n 's/^.*\.entry \([A-Za-z0-9_]*\)(.*/\1/p' "$input" | while read -r name; do
  echo "ptxas info    : Compiling entry function '$name' for 'sm_90a'"
  if [ $spilled = 4 ]; then
    echo "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function '$name'"
  fi
  echo "ptxas info    : Function properties for $name"
  [ $spilled = 8 ] || spilled=0
  echo "    16 bytes stack frame, $spilled bytes spill stores, $spilled bytes spill loads"
  echo "ptxas info    : Used 168 registers, used 2 barriers, 16 bytes stack, 96 bytes smem, 400 bytes cmem[0]"
  [ $spilled = 8 ] && spilled=4
done
echo "ptxas warning : Unknown option of all kernels" >&2
