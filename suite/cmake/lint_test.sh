#!/usr/bin/env bash
# lint_test.sh CMAKE: shows each lint rule a tree that keeps it and a tree that breaks it.
set -euo pipefail

readonly cmake=$1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly here
scratch="$(mktemp -d)"
readonly scratch
trap 'rm -rf "${scratch}"' EXIT
failed=0

# expect WANTED NAME COMMAND...: WANTED is green or red. A skipped rule (77) proves nothing and fails nothing.
expect() {
  local wanted=$1 name=$2 code=0 found=green
  shift 2
  "$@" >"${scratch}/output" 2>&1 || code=$?
  ((code == 77)) && return
  ((code == 0)) || found=red
  if [[ ${found} != "${wanted}" ]]; then
    printf 'FAILED: %s: expected %s, found %s\n' "${name}" "${wanted}" "${found}"
    cat "${scratch}/output"
    failed=1
  fi
}

# tree FILE TEXT: a new tree in which FILE holds TEXT.
tree() {
  rm -rf "${scratch}/tree"
  mkdir -p "${scratch}/tree/$(dirname "$1")"
  printf '%b' "$2" >"${scratch}/tree/$1"
  cp "${here}/../../.clang-format" "${scratch}/tree"
}

rule() { expect "$1" "$2: $3" "${here}/lint.sh" "$2" "${scratch}/tree"; }
layers() { expect "$1" "layers: $2" "${cmake}" -D "SOURCE_DIR=${scratch}/tree" -P "${here}/layers.cmake"; }

tree suite/a.cpp 'int a;  // plain\n'
rule green ascii "plain text"
rule green paths "plain text"
rule green format "formatted"
tree suite/a.cpp 'int a;  // na\xc3\xafve\n'
rule red ascii "a letter outside ASCII"
tree data/testdata/a.txt 'na\xc3\xafve\n'
rule green ascii "test data"
tree suite/a.cpp 'int    a;\n'
rule red format "four spaces"
tree suite/a.h 'const char *a;\n'
rule red format "a star to the right"
folder=tmp
tree suite/a.cpp "auto a = \"/${folder}/x\";\n"
rule red paths "a path of one machine"
tree docs/a.md "see https://example.org/${folder}/x and results/${folder}/y\n"
rule green paths "the same word inside an address"
tree a.sh '#!/bin/bash\nif true; then echo; fi\n'
rule green shell "a correct script"
tree a.sh '#!/bin/bash\nif true; then echo\n'
rule red shell "an open if"

tree suite/a_test.cpp 'int a;\n'
printf 'normbench_tests(a SOURCES a_test.cpp)\n' >"${scratch}/tree/suite/CMakeLists.txt"
rule green tests "a test that a target names"
printf 'normbench_tests(a SOURCES b_test.cpp)\n' >"${scratch}/tree/suite/CMakeLists.txt"
rule red tests "a test that fell out of the build"

tree suite/ops/a.h '#include "suite/base/json.h"\n#include <torch/types.h>\n'
layers green "ops sees base and torch"
tree suite/base/a.h '#include "suite/ops/norm.h"\n'
layers red "base sees ops"
tree suite/judge/a.cpp '  #  include <torch/types.h>\n'
layers red "judge sees torch"
tree models/a.h '#include "optim/adamw.h"\n'
layers red "models see optim"
tree suite/measure/a.cpp '#include "models/decoder.h"\n'
layers green "measure sees an architecture"
tree suite/measure/a.cpp '#include "suite/train/trainer.h"\n'
layers red "measure sees the training loop"
tree suite/train/a.cpp '#include "models/ngpt.h"\n'
layers red "train sees a concrete model"
tree suite/train/a.cpp '#include "models/model.h"\n'
layers green "train sees the contract"
tree suite/plan/a.cpp '#include "table.h"\n'
layers red "a path that does not start at the root"

exit "${failed}"
