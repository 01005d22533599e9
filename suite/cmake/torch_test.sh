#!/usr/bin/env bash
# torch_test.sh CMAKE: which LibTorch a build takes (suite/cmake/torch.cmake): the environment's before the one of an earlier
# configure, and never a folder that is gone. The folders hold what the file looks at and nothing else.
set -euo pipefail

readonly cmake=$1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here
scratch="$(mktemp -d)"
readonly scratch
trap 'rm -rf "${scratch}"' EXIT
unset LIBTORCH Torch_DIR
failed=0

# libtorch FOLDER MINOR: a LibTorch of version 2.MINOR.
libtorch() {
  mkdir -p "$1/include/torch/csrc/api/include/torch" "$1/include/torch/headeronly" "$1/share/cmake/Torch"
  touch "$1/include/torch/csrc/api/include/torch/torch.h"
  printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR %s\n' "$2" >"$1/include/torch/headeronly/version.h"
}

# expect NAME TEXT [ENVIRONMENT]...: the next configure of the one build folder prints TEXT.
expect() {
  local name=$1 text=$2
  shift 2
  env "$@" "${cmake}" -G Ninja -S "${scratch}/tree" -B "${scratch}/build" >"${scratch}/output" 2>&1 || true
  if [[ $(tr -s ' \n' ' ' <"${scratch}/output") != *"${text}"* ]]; then  # CMake breaks the lines of an error
    printf 'FAILED: %s: expected "%s"\n' "${name}" "${text}"
    cat "${scratch}/output"
    failed=1
  fi
}

readonly own="${scratch}/tree/.deps/libtorch/torch" other="${scratch}/other" third="${scratch}/third" old="${scratch}/old"
libtorch "${own}" 11
libtorch "${other}" 11
libtorch "${third}" 11
libtorch "${old}" 10
printf 'cmake_minimum_required(VERSION 3.25)\nproject(nothing LANGUAGES NONE)\ninclude("%s/torch.cmake")\n' "${here}" \
  >"${scratch}/tree/CMakeLists.txt"

expect "what bootstrap.sh fetched" "LibTorch: ${own}"
expect "a later LIBTORCH" "LibTorch: ${other}" LIBTORCH="${other}"
expect "ninja in another shell" "LibTorch: ${other}"
expect "a later Torch_DIR" "LibTorch: ${third}" Torch_DIR="${third}/share/cmake/Torch"
expect "LIBTORCH before Torch_DIR" "LibTorch: ${other}" LIBTORCH="${other}" Torch_DIR="${third}"
expect "another version" "is version 2.10; expected 2.11" LIBTORCH="${old}"
expect "which is not remembered" "LibTorch: ${other}"
expect "a folder without LibTorch" "no LibTorch is there (LIBTORCH='${scratch}/nowhere'" LIBTORCH="${scratch}/nowhere"
expect "back to a good one" "LibTorch: ${other}" LIBTORCH="${other}"
rm -rf "${other}"
expect "the earlier folder is gone" "LibTorch: ${own}"
rm -rf "${own}"
expect "none at all" "LibTorch was not found"
exit "${failed}"
