#!/usr/bin/env bash
# lint.sh ascii|format|paths|shell|tests ROOT: one rule over the project's files. Exit 0 kept, 1 broken (each line is named),
# 77 skipped because the tool is not there. suite/cmake/lint_test.sh shows each rule something that breaks it.
set -euo pipefail

readonly rule=$1
cd "$2"

# files REGEX: the tracked files whose path matches; outside a repository every file but build products.
files() {
  { if [[ -e .git ]] && git ls-files >/dev/null 2>&1; then
      git ls-files
    else
      find . -type f -printf '%P\n' | grep -Ev '^(build|\.deps|\.git|results/(runs|report))/'
    fi
  } | grep -E "$1" | while IFS= read -r file; do
    if [[ -f ${file} ]]; then printf '%s\n' "${file}"; fi  # a file deleted, but not yet in git, is none
  done
}

# report TEXT: lines that break the rule, if any.
report() {
  if [[ -n $1 ]]; then
    printf '%s\nlint.%s: %s\n' "$1" "${rule}" "$2" >&2
    exit 1
  fi
}

case ${rule} in
  ascii)  # data that is text of somebody else stays as it is
    mapfile -t list < <(files '\.(h|cpp|cu|cmake|txt|sh|py|json|md|yml)$|(^|/)(run|\.[a-z-]+)$' | grep -Ev '/testdata/|^results/|^baselines/golden/')
    report "$(LC_ALL=C grep -nIHP '[^\x00-\x7F]' "${list[@]}" || true)" "these lines are not ASCII: write the letter's name, or \\u in JSON."
    ;;
  paths)
    mapfile -t list < <(files '.')
    report "$(grep -nIHE '(^|[^A-Za-z0-9_.~})*-])/(root|tmp|work|home)/' "${list[@]}" || true)" \
      "these lines name a folder of one machine: use a path below the repository, or the system's temporary folder."
    ;;
  shell)
    mapfile -t list < <(files '\.sh$|^\.ci/run$')
    for file in "${list[@]}"; do
      bash -n "${file}" || report "${file}" "bash does not understand this file."
    done
    if command -v shellcheck >/dev/null; then
      report "$(shellcheck --external-sources --severity=warning --format=gcc "${list[@]}" || true)" "shellcheck's advice on these lines is taken here."
    fi
    ;;
  tests)  # a test that no target names passes for ever
    mapfile -t lists < <(files '(^|/)CMakeLists\.txt$|\.cmake$')
    unbuilt="$(files '_test\.cpp$' | while IFS= read -r file; do
      grep -qF "${file##*/}" /dev/null "${lists[@]}" || printf '%s\n' "${file}"
    done)"
    report "${unbuilt}" "no CMake file names these tests: add them to normbench_tests() of their folder."
    ;;
  format)  # other versions break lines elsewhere, so that one version must decide
    tool="$(command -v clang-format-14 || command -v clang-format || true)"
    if [[ -z ${tool} || $("${tool}" --version) != *"version 14."* ]]; then
      echo "lint.format: skipped, clang-format 14 is not here (suite/bootstrap.sh --developer installs it)."
      exit 77
    fi
    mapfile -t list < <(files '\.(h|cpp|cu)$')
    if ((${#list[@]})); then
      report "$("${tool}" --dry-run -Werror "${list[@]}" 2>&1 | grep -E 'error:' || true)" "clang-format -i on these files repairs them."
    fi
    ;;
  *)
    echo "lint.sh: unknown rule '${rule}', expected ascii, format, paths, shell or tests." >&2
    exit 2
    ;;
esac
