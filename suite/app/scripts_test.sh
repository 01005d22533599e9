#!/usr/bin/env bash
# scripts_test.sh: run_all.sh and suite/bootstrap.sh end with the documented code and a clear line, and before they have
# changed anything where that can be known. They run in a tree of their own, with programs on PATH that say no.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
readonly root
scratch="$(mktemp -d)"
readonly scratch tree="${scratch}/tree" fake="${scratch}/bin" called="${scratch}/called"
trap 'rm -rf "${scratch}"' EXIT
failed=0

# program NAME BODY: a program on PATH.
program() {
  printf '#!/bin/bash\n%s\n' "$2" >"${fake}/$1"
  chmod 755 "${fake}/$1"
}

# expect NAME CODE TEXT COMMAND...: CODE and TEXT of the command, and nothing in ${called}.
expect() {
  local name=$1 code=$2 text=$3 found=0
  shift 3
  rm -f "${called}"/*
  "$@" >"${scratch}/output" 2>&1 </dev/null || found=$?
  if [[ ${found} != "${code}" ]] || ! grep -qF -- "${text}" "${scratch}/output" || [[ -n $(ls "${called}") ]]; then
    printf 'FAILED: %s: exit code %s, expected %s with "%s"; called: %s\n' "${name}" "${found}" "${code}" "${text}" \
      "$(ls "${called}")"
    cat "${scratch}/output"
    failed=1
  fi
}

mkdir -p "${tree}/suite/tables/angpt" "${fake}" "${called}"
chmod -R a+rwX "${scratch}"
cp "${root}/run_all.sh" "${tree}"
touch "${tree}/suite/tables/angpt/convergence.json"
export PATH="${fake}:${PATH}" NORMBENCH_CACHE=off

# --- run_all.sh, with a bootstrap that leaves a mark
run_all() { "${tree}/run_all.sh" "$@"; }
printf '#!/bin/bash\n[[ ${1:-} == --print-preset ]] && echo cpu && exit\ntouch "%s/bootstrap"\n' "${called}" >"${tree}/suite/bootstrap.sh"
chmod 755 "${tree}/suite/bootstrap.sh"
expect "unknown table" 2 "the nearest is 'angpt.convergence'" run_all --only angpt.convergance
expect "unknown table, dry run" 2 "the nearest is 'angpt'" run_all --dry-run --only angtp
expect "empty table" 2 "--only needs a value" run_all --only ""
expect "empty tier" 2 "--tier needs a value" run_all --tier=
for jobs in 0 99999 -1 x 08; do
  expect "jobs ${jobs}" 2 "--jobs: found '${jobs}', expected a number from 1 to 9999" run_all --jobs "${jobs}"
done

printf '#!/bin/bash\necho cpu\n' >"${tree}/suite/bootstrap.sh"
program cmake '[[ $1 != --build ]]'
program df 'echo head; echo disk 9000 1000 8000 10% /'
expect "compile failure" 3 "the build failed" run_all --only angpt
program df 'echo head; echo disk 9000 8990 10 99% /'
expect "full disk" 3 "10 MB free" run_all --only angpt
program cmake 'exit 1'
expect "configure failure" 3 "cmake could not configure" run_all --only angpt

# --- run_all.sh, what --only selects: real ctest over tests that leave a mark. The arm angpt of another paper's table is not
# the paper angpt; a run that the table shares, and what a check needs, are trained whatever their names are.
readonly ran="${scratch}/ran" list="${tree}/build/cpu/CTestTestfile.cmake"
mkdir -p "${tree}/build/cpu/bin" "${tree}/suite/tables/ngpt" "${ran}"
touch "${tree}/suite/tables/angpt/empty.json" "${tree}/suite/tables/ngpt/rates.json"
printf '#!/bin/bash\n' >"${tree}/build/cpu/bin/normbench"
chmod 755 "${tree}/build/cpu/bin/normbench"
program cmake 'exit 0'

# listed NAME LABELS [PROPERTY VALUE]...: a test of the fake build, as `normbench plan --ctest` writes it.
listed() {
  printf 'add_test(%s touch "%s/%s")\nset_tests_properties(%s PROPERTIES LABELS "%s"%s)\n' \
    "$1" "${ran}" "$1" "$1" "$2" "${3:+ ${*:3}}" >>"${list}"
}

# selects NAME WANTED COMMAND...: the marks that the tests of this command leave.
selects() {
  local name=$1 wanted=$2 found
  shift 2
  rm -f "${ran}"/*
  expect "${name}" 0 "100% tests passed" "$@"
  found="$(cd "${ran}" && printf '%s ' *)"
  if [[ ${found% } != "${wanted}" ]]; then
    printf 'FAILED: %s: found %s, expected %s\n' "${name}" "${found}" "${wanted}"
    failed=1
  fi
}

listed machine "tier.smoke;tier.cpu;paper.angpt;paper.ngpt;table.angpt.convergence;table.angpt.empty;table.ngpt.rates" FIXTURES_SETUP machine
listed run.angpt.convergence.smoke.angpt "tier.smoke;paper.angpt;table.angpt.convergence" FIXTURES_SETUP a FIXTURES_REQUIRED machine
listed check.angpt.convergence.smoke.claim "tier.smoke;paper.angpt;table.angpt.convergence" FIXTURES_REQUIRED '"a;b"'
listed run.angpt.convergence.cpu.angpt "tier.cpu;paper.angpt;table.angpt.convergence" FIXTURES_REQUIRED machine
listed check.angpt.convergence.cpu.regression "tier.cpu;kind.regression;paper.angpt;table.angpt.convergence" FIXTURES_REQUIRED machine
listed run.ngpt.rates.smoke.other "tier.smoke;paper.ngpt;table.ngpt.rates" FIXTURES_SETUP b FIXTURES_REQUIRED machine
listed run.ngpt.rates.smoke.shared "tier.smoke;paper.angpt;paper.ngpt;table.angpt.convergence;table.ngpt.rates" FIXTURES_REQUIRED machine
listed run.ngpt.rates.smoke.angpt.s0 "tier.smoke;paper.ngpt;table.ngpt.rates" FIXTURES_REQUIRED machine
listed check.ngpt.rates.smoke.regression.angpt "tier.smoke;kind.regression;paper.ngpt;table.ngpt.rates" FIXTURES_REQUIRED '"b;machine"'
of_angpt="check.angpt.convergence.smoke.claim machine run.angpt.convergence.smoke.angpt run.ngpt.rates.smoke.other run.ngpt.rates.smoke.shared"
selects "one paper" "${of_angpt}" run_all --only angpt
selects "one table" "${of_angpt}" run_all --only angpt/convergence
selects "another tier" "check.angpt.convergence.cpu.regression machine run.angpt.convergence.cpu.angpt" run_all --tier cpu --only angpt
expect "a tier that the paper lacks" 2 "no test matches --tier cpu --only ngpt" run_all --tier cpu --only ngpt
expect "a table without tests" 2 "no test matches --tier smoke --only angpt.empty" run_all --only angpt.empty

# --- the test presets: regression is the gate of the smoke tier alone, with the runs that it needs
preset() { (cd "${tree}" && ctest --preset "$@"); }
cp "${root}/CMakePresets.json" "${tree}"
ln -s cpu "${tree}/build/current"
selects "the smoke tier's gate" "check.ngpt.rates.smoke.regression.angpt machine run.ngpt.rates.smoke.other" preset regression
selects "another tier's gate" "check.angpt.convergence.cpu.regression machine" preset cpu -L kind.regression

# --- bootstrap.sh, with packages that are missing and an apt-get that leaves a mark
bootstrap() { "${tree}/suite/bootstrap.sh" "$@"; }
cp "${root}/suite/bootstrap.sh" "${tree}/suite"
program apt-get "touch '${called}/apt-get'"
program dpkg-query 'exit 1'
program nvcc 'echo release 1.0,'
program df 'echo head; echo disk 99000 1000 98000 10% /'
program uname 'echo Linux aarch64'
expect "no wheel for this machine" 3 "set LIBTORCH" bootstrap
expect "a LibTorch that is not there" 2 "no LibTorch is there" env LIBTORCH="${scratch}/nowhere" "${tree}/suite/bootstrap.sh"
program uname 'echo Linux x86_64'
program df 'echo head; echo disk 9000 8900 100 99% /'
expect "no space for LibTorch" 3 "too little space for LibTorch" bootstrap
expect "help" 0 "NORMBENCH_NO_PACKAGES" bootstrap --help

program df 'echo head; echo disk 99000 1000 98000 10% /'
program cmake 'echo cmake version 3.25.1'
if grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release; then
  expect "what the build preset tidy needs" 0 "clang-tidy" bootstrap --developer --dry-run
fi
if grep -qE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release && command -v setpriv >/dev/null && ((EUID == 0)); then
  # shellcheck disable=SC2016
  program sudo '[[ $1 == -n ]]'
  mkdir -p "${scratch}/torch/include/torch/csrc/api/include/torch"
  touch "${scratch}/torch/include/torch/csrc/api/include/torch/torch.h"
  chmod -R a+rX "${scratch}"
  expect "sudo refuses" 3 "sudo refuses this user" env LIBTORCH="${scratch}/torch" \
    setpriv --reuid 65534 --regid 65534 --clear-groups "${tree}/suite/bootstrap.sh"
fi
exit "${failed}"
