#!/usr/bin/env bash
# From a fresh machine to the verdicts: installs, builds, prepares data, trains, judges, reports. See --help.
# Every step says what it does and how long that takes; a second run does nothing twice and goes on where one stopped.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
readonly options=(--tier --only --jobs --dry-run --help)
readonly tiers=(smoke cpu gpu paper)

mode=run
tier=smoke
only=""
jobs=""
dry_run=no

usage() {
  cat <<'TEXT'
./run_all.sh [options]        trains and judges one tier; prints the ledger, writes results/report/index.html
./run_all.sh test             builds, then runs the unit tests, the lint tests and the smoke tier
  --tier TIER    smoke (default; minutes), cpu (hours), gpu (one GPU), paper (the papers' own sizes)
  --only TABLE   one table, for example angpt.convergence, or all of a paper, for example angpt
  --jobs N       tests at a time, and compilers as far as memory allows (default: one per core)
  --dry-run      say what would be done, change nothing
  --help         this text
Environment: LIBTORCH or Torch_DIR  an existing LibTorch 2.11     NORMBENCH_CACHE  see suite/bootstrap.sh --help
Exit codes: 0 all checks agree; 2 wrong use, or a selection without tests; 3 this machine cannot do it, or the build
            failed; 8 some checks are red (ctest's own code; the ledger is printed all the same); 77 nothing of the
            tier can run here (no GPU, or data that is yours to bring); 130 interrupted.
TEXT
}

# nearest WORD CANDIDATE...: the candidate with the smallest edit distance.
nearest() {
  printf '%s\n' "$@" | awk '
    function distance(a, b,   i, j, d, m, n, cost) {
      m = length(a); n = length(b)
      for (i = 0; i <= m; i++) d[i, 0] = i
      for (j = 0; j <= n; j++) d[0, j] = j
      for (i = 1; i <= m; i++)
        for (j = 1; j <= n; j++) {
          cost = d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1))
          if (d[i - 1, j] + 1 < cost) cost = d[i - 1, j] + 1
          if (d[i, j - 1] + 1 < cost) cost = d[i, j - 1] + 1
          d[i, j] = cost
        }
      return d[m, n]
    }
    NR == 1 { word = $0; next }
    NR == 2 || distance(word, $0) < best { best = distance(word, $0); found = $0 }
    END { print found }'
}

wrong_use() {
  printf 'run_all.sh: %s\n' "$@" >&2
  exit 2
}

value_of() {  # value_of OPTION COUNT VALUE: the option's value, which must be there
  if (($2 < 2)) || [[ -z $3 || $3 == --* ]]; then wrong_use "$1 needs a value." "To do: see ./run_all.sh --help."; fi
  printf '%s' "$3"
}

while (($#)); do
  case $1 in
    test) mode="test" ;;
    --tier) tier="$(value_of "$1" $# "${2:-}")"; shift ;;
    --only) only="$(value_of "$1" $# "${2:-}")"; shift ;;
    --jobs) jobs="$(value_of "$1" $# "${2:-}")"; shift ;;
    --tier=* | --only=* | --jobs=*) set -- x "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --dry-run) dry_run=yes ;;
    --help | -h) usage; exit 0 ;;
    *) wrong_use "unknown argument '$1'; the nearest is '$(nearest "$1" test "${options[@]}")'." \
         "To do: see ./run_all.sh --help." ;;
  esac
  shift
done
if [[ " ${tiers[*]} " != *" ${tier} "* ]]; then
  wrong_use "unknown tier '${tier}'; the nearest is '$(nearest "${tier}" "${tiers[@]}")'." "expected one of: ${tiers[*]}"
fi
if [[ ${mode} == test && ${tier}${only} != smoke ]]; then
  wrong_use "'test' runs all unit and lint tests and the whole smoke tier: --tier and --only have no effect with it."
fi
jobs="${jobs:-$(nproc)}"
if ! [[ ${jobs} =~ ^[1-9][0-9]{0,3}$ ]]; then wrong_use "--jobs: found '${jobs}', expected a number from 1 to 9999."; fi
only="${only//\//.}"
if [[ ${only} == *[^A-Za-z0-9_.-]* ]]; then
  wrong_use "--only: found '${only}', expected a table such as angpt.convergence."
fi

# The tables are files, so that a wrong name is found before anything is installed.
tables=()
for file in suite/tables/*/*.json; do
  table="${file#suite/tables/}"
  table="${table%.json}"
  tables+=("${table%%/*}" "${table/\//.}")
done
if [[ -n ${only} && " ${tables[*]} " != *" ${only} "* ]]; then
  wrong_use "unknown paper or table '${only}'; the nearest is '$(nearest "${only}" "${tables[@]}")'." \
    "expected: a folder of suite/tables (angpt), or a file there (angpt.convergence)"
fi

# A compiler that reads LibTorch's headers takes up to 2 GB.
compilers=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) / 2000000))
compilers=$((compilers < 1 ? 1 : compilers > jobs ? jobs : compilers))

trap 'printf "\nrun_all.sh: interrupted. Nothing is lost: the same command goes on where this one stopped.\n" >&2; exit 130' INT

started=${SECONDS}
took() { printf '   done in %d min %02d s\n' $((($1) / 60)) $((($1) % 60)); }

# step TITLE EXPECTED COMMAND...: announces, runs, and says how long it took. The command's failure is the step's.
step() {
  local title=$1 expected=$2 start=${SECONDS} code=0
  shift 2
  printf '\n== %s (%s)\n' "${title}" "${expected}"
  if [[ ${dry_run} == yes ]]; then
    printf '   would run: %s\n' "$*"
    return 0
  fi
  "$@" || code=$?
  ((code == 0)) && took $((SECONDS - start))
  return "${code}"
}

bootstrap() {
  local arguments=()
  [[ ${dry_run} == yes ]] && arguments=(--dry-run)
  suite/bootstrap.sh "${arguments[@]}"
}

# failed_build WHAT: why, as far as the disk is the reason, and the documented exit code.
failed_build() {
  local free
  free="$(df -Pm . | awk 'NR == 2 {print $4}')"
  printf 'run_all.sh: %s\n' "$1" >&2
  if ((free < 200)); then
    printf '  found:    %s MB free for %s; the build needs 2 GB\n  to do:    make room, then run again\n' "${free}" "${PWD}/build" >&2
  fi
  return 3
}

# shellcheck disable=SC2317  # called through step
build() {
  local log="build/configure.log"
  if ! mkdir -p build || ! cmake --preset "${preset}" >"${log}" 2>&1; then
    cat "${log}" >&2 || true
    failed_build "cmake could not configure the build; its answer is above."
    return
  fi
  cmake --build --preset "${preset}" -j "${compilers}" ||
    failed_build "the build failed; the first line with 'error' above says where."
}

printf '== Install what is missing (nothing on a second run, else some minutes)\n'
bootstrap
[[ -x .deps/cmake/cmake/data/bin/cmake ]] && PATH="${PWD}/.deps/cmake/cmake/data/bin:${PATH}"
[[ -x /usr/local/cuda/bin/nvcc ]] && PATH="${PATH}:/usr/local/cuda/bin"
preset="$(suite/bootstrap.sh --print-preset)"
readonly preset
readonly bin="build/${preset}/bin"

expected="all of it, 10 to 20 min on two cores; seconds when ccache knows the sources"
[[ -x ${bin}/normbench ]] && expected="what changed; seconds if nothing did"
step "Build, preset ${preset}, ${compilers} compilers at a time" "${expected}" build

selection=(--tier "${tier}")
[[ -n ${only} ]] && selection+=(--only "${only}")

# Tests carry the labels of their tier, papers and tables; a run that two tables share carries those of both. Names would not
# do: an arm may be called like a paper.
ctest_arguments=(--test-dir "build/${preset}" -j "${jobs}" --output-on-failure --no-tests=error)
if [[ ${mode} == test ]]; then
  ctest_arguments+=(-L '^(kind\.unit|kind\.lint|tier\.smoke)$')
else
  ctest_arguments+=(-L "^tier\\.${tier}\$")
fi
# Two labels: both are asked for. Fixtures (data, machine, runs that a check needs) come by themselves, and alone are no selection.
[[ -n ${only} ]] && ctest_arguments+=(-L "^(paper|table)\\.${only//./\\.}\$" -R '^(run|check)\.')

if [[ ${dry_run} == no ]]; then
  count="$(ctest "${ctest_arguments[@]}" -N | sed -n 's/^Total Tests: //p')"
  if [[ ${count:-0} == 0 ]]; then
    wrong_use "no test matches --tier ${tier}${only:+ --only ${only}}." \
      "To do: ${bin}/normbench plan --list prints the tables and tiers that exist."
  fi
fi

step "Prepare the data" "half a minute the first time, else seconds" "${bin}/normbench" data prepare "${selection[@]}"

if [[ ${mode} == test ]]; then
  printf '\n== Test, %s at a time (5 to 10 min on two cores; runs that are recorded are not repeated)\n' "${jobs}"
  if [[ ${dry_run} == yes ]]; then
    printf '   would run: ctest %s\n' "${ctest_arguments[*]}"
    exit 0
  fi
  # Its closing lines are the last ones. No exec: then nobody would be left to say what Ctrl-C does.
  code=0
  ctest "${ctest_arguments[@]}" || code=$?
  exit "${code}"
fi

step "Plan" "seconds" "${bin}/normbench" plan "${selection[@]}"
code=0
step "Train and check, ${jobs} at a time" "the time left is in the plan above" ctest "${ctest_arguments[@]}" || code=$?
if ((code > 128)); then exit "${code}"; fi
judged=0
step "Judge" "seconds" "${bin}/normbench" judge "${selection[@]}" || judged=$?
if ((judged != 77)); then  # 77: there is nothing to judge, and judge has said why
  step "Report" "seconds" "${bin}/normbench" report "${selection[@]}" || judged=$?
fi
printf '\n== All of it took %d min %02d s\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60))
if ((code)); then printf 'Some checks are red: the lines "Failed" above name them.\n'; fi
if ((code == 0)); then code=${judged}; fi
exit "${code}"
