#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs with apt what the demo needs on Debian 12, or what tests need, too: these also take libraries from npm, which imports and
# traces are held against. Does nothing where all of it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-}
if (($# != 1)) || [[ $what != demo && $what != tests ]]; then
  echo "usage: tools/setup.sh demo|tests" >&2
  exit 2
fi

libraries=(
  @huggingface/transformers@4.3.2 speedscope@1.25.0 koffi@3.3.4 ajv@8.20.0 ajv-formats@3.0.1
  # clients of servers
  openai@7.59.0 @openai/agents@0.20.0 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7
)

# Without a way to npm's registry, the tests of these are left out.
install_libraries() {
  if [[ $what != tests ]]; then
    return
  fi
  local peers=build/peers library missing=()
  for library in "${libraries[@]}"; do
    grep -qs "\"version\": \"${library##*@}\"" "$peers/node_modules/${library%@*}/package.json" || missing+=("$library")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  echo "setup: installing ${missing[*]} into $peers"
  local options=(--ignore-scripts --no-audit --no-fund --loglevel=error)
  if ! timeout 300 npm install "${options[@]}" --prefix "$peers" "${libraries[@]}" >/dev/null; then
    echo "setup: npm could not install them, so their tests are left out"
  fi
}

# Services that tests start themselves: unpacked, not installed, since the packages start them at once and with the machine.
services=(haproxy nginx slurmctld slurmd slurm-client munge)

unpack_services() {
  if [[ $what != tests ]] || [[ $(cat build/services/packages 2>/dev/null) == "${services[*]}" ]]; then
    return
  fi
  echo "setup: unpacking ${services[*]} into build/services"
  local part=build/services.part packages package
  rm -rf "$part" build/services
  mkdir -p "$part/archives"
  # With what they need and the system lacks.
  packages=$(apt-get install -s --no-install-recommends "${services[@]}" | sed -n 's/^Inst \([^ ]*\).*/\1/p')
  # shellcheck disable=SC2086
  if (cd "$part/archives" && apt-get download -qq -o APT::Sandbox::User=root $packages >/dev/null); then
    for package in "$part"/archives/*.deb; do
      dpkg-deb -x "$package" "$part"
    done
    rm -r "$part/archives"
    echo "${services[*]}" >"$part/packages"
    mv "$part" build/services
  else
    rm -r "$part"
    echo "setup: they could not be fetched, so their tests are left out"
  fi
}

# A root of Debian with a C compiler and CMake, where the package is installed for a test. Without a way to make one, and
# for people other than root, that test is left out. A root of Debian 13 ($ATTN_ROOTS="bookworm trixie") is tested, too.
make_roots() {
  local release
  if [[ $what != tests ]] || ((EUID != 0)); then
    return
  fi
  mkdir -p build/roots
  for release in ${ATTN_ROOTS:-bookworm}; do
    [[ ! -d build/roots/$release ]] || continue
    echo "setup: making a root of Debian in build/roots/$release"
    rm -rf "build/roots/$release.part"
    if timeout 900 mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,cmake,make,pkg-config,python3-numpy \
      "$release" "build/roots/$release.part" >/dev/null; then
      mv "build/roots/$release.part" "build/roots/$release"
    else
      rm -rf "build/roots/$release.part"
      echo "setup: it could not be made, so the test of the package there is left out"
    fi
  done
}

# Of the compiler, and of programs that take pictures, sounds and text.
packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev clang-22 lld-22 cmake ninja-build gcc g++
  libfmt-dev zlib1g-dev libzstd-dev libxml2-dev libcurl4-openssl-dev libedit-dev
  # ONNX files
  libprotobuf-dev protobuf-compiler
  # pictures, sounds, tokenizers and servers in compiled programs
  libpng-dev libjpeg62-turbo-dev libflac-dev libpcre2-dev libutf8proc-dev libevent-dev
  # the demo's test images
  dataset-fashion-mnist
)
tests_packages=(
  curl
  llvm-22-tools libgtest-dev ccache
  # the runtime for AArch64, and its tests
  crossbuild-essential-arm64 qemu-user googletest
  # sanitizers and fuzzers
  libclang-rt-22-dev
  # style checks
  clang-format-22 clang-tidy-22 universal-ctags
  # twins
  python3-torch libopenblas0-pthread python3-numpy python3-pil python3-onnx python3-regex python3-sentencepiece python3-jinja2
  # examples/cluster
  parallel
  # the page of attn explore
  chromium
  # bills of materials
  python3-license-expression
  # examples/serve
  openssl
  # the manual page
  groff-base
  # a system to install the package on
  mmdebstrap
)
if [[ $what == tests ]]; then
  packages+=("${tests_packages[@]}")
  # Node from elsewhere brings npm, and stays.
  command -v npm >/dev/null || packages+=(nodejs npm)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  install_libraries
  unpack_services
  make_roots
  echo "setup: everything is installed"
  exit 0
fi

echo "setup: installing ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "setup: error: this is not a Debian system; install the packages named above" >&2
  exit 4
fi
as_root=()
if ((EUID != 0)); then
  as_root=(sudo)
  if ! command -v sudo >/dev/null; then
    echo "setup: error: installing packages needs root; run tools/setup.sh as root once" >&2
    exit 4
  fi
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
install_libraries
unpack_services
make_roots
echo "setup: done"
