#!/usr/bin/env bash
# Installs what the build needs and is missing: Debian or Ubuntu packages by name, and LibTorch below .deps/.
# What it is not: a package manager. It never upgrades, removes or replaces anything, and a second run does nothing.
# Truth about LibTorch: the wheels on PyPI, by SHA-256. They are unpacked, never imported, so any Python will do.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root deps="${root}/.deps"
readonly torch_version=2.11.0
readonly cmake_wheel=3.25.2  # only where the system's CMake is older than 3.25 (Ubuntu 22.04)

readonly packages=(
  g++ cmake ninja-build ccache pkg-config git python3 ca-certificates zstd
  nlohmann-json3-dev libzstd-dev libcli11-dev libfmt-dev libspdlog-dev libsentencepiece-dev libboost-dev libeigen3-dev
  libxxhash-dev libssl-dev libkainjow-mustache-dev libvalijson-dev zlib1g-dev libarchive-dev libgtest-dev
  libbenchmark-dev gnuplot-nox)
readonly developer_packages=(clang-format-14 clang-tidy shellcheck libopenmpi-dev openmpi-bin)

# name | wheel | sha256 | megabytes to fetch. The first three serve every machine, the others the GPU code only.
readonly wheels_cpu=(
  "torch==2.11.0|7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a|531"
  "nvidia-cuda-runtime==13.0.96|7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548|2"
  "nvidia-cuda-cupti==13.0.85|4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8|11")
readonly wheels_cuda=(
  "nvidia-cusparselt-cu13==0.8.0|25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd|170"
  "nvidia-nvshmem-cu13==3.4.5|290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80|60"
  "nvidia-cufile==1.15.1.6|08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44|1")

dry_run=no
with_packages=yes
with_developer=no
scratch=""  # a temporary file or folder, removed whatever happens
trap '[[ -z ${scratch} ]] || rm -rf "${scratch}"' EXIT

usage() {
  cat <<'TEXT'
suite/bootstrap.sh [options]: installs what the build needs and this machine lacks.
  --dry-run        say what would be done, change nothing
  --developer      also clang-format, shellcheck and OpenMPI (the tests that need them are skipped otherwise), and
                   clang-tidy (for the build preset tidy)
  --no-packages    leave the system's packages alone (you installed them by hand); NORMBENCH_NO_PACKAGES=1 is the same
  --print-preset   print the build preset for this machine, cpu or cuda, and stop
  --help           this text
Environment: LIBTORCH or Torch_DIR  an existing LibTorch 2.11 (nothing is fetched then)
             NORMBENCH_NO_PACKAGES  1: as --no-packages, also through ./run_all.sh
             NORMBENCH_CACHE        where LibTorch is kept for the next clone (default ~/.cache/normbench; "off": nowhere)
Exit codes: 0 all there; 2 wrong use; 3 this machine cannot do it (the text says what to install by hand).
TEXT
}

say() { printf '%s\n' "$*"; }

# fail CODE LINE...: one message, on standard error, and nothing is left half-done.
fail() {
  local code=$1
  shift
  printf 'bootstrap: %s\n' "$1" >&2
  shift
  if (($#)); then printf '  %s\n' "$@" >&2; fi
  exit "${code}"
}

elapsed() { say "   done in $((SECONDS - $1)) s"; }

# --- the machine ------------------------------------------------------------------------------------------------------

nvcc_path() {
  command -v nvcc 2>/dev/null && return
  [[ -x /usr/local/cuda/bin/nvcc ]] && say /usr/local/cuda/bin/nvcc
}

# The GPU code needs toolkit 13 (LibTorch's own libraries ask for libcudart.so.13) with cuDNN 9 and NCCL 2.
# Prints the reason and returns 1 when it cannot be built here.
cuda_usable() {
  local nvcc release dir library
  nvcc="$(nvcc_path)" || { say "no CUDA toolkit"; return 1; }
  release="$("${nvcc}" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')"
  if [[ ${release} != 13 ]]; then
    say "CUDA toolkit ${release:-unknown} found, LibTorch ${torch_version} needs 13"
    return 1
  fi
  dir="$(cd "$(dirname "$(readlink -f "${nvcc}")")/.." && pwd)"
  for library in libcudnn.so.9 libnccl.so.2 libcublas.so.13; do
    if [[ ! -e ${dir}/lib64/${library} && ! -e ${dir}/lib/${library} ]] &&
       ! ldconfig -p 2>/dev/null | grep -q "${library}"; then
      say "CUDA toolkit found, but not its ${library}"
      return 1
    fi
  done
}

# The folder of an existing LibTorch that the user names, by the same rule as suite/cmake/torch.cmake.
given_torch() {
  local candidate
  for candidate in "${LIBTORCH:-}" "${Torch_DIR:+${Torch_DIR}/../../..}" "${Torch_DIR:-}"; do
    if [[ -n ${candidate} && -e ${candidate}/include/torch/csrc/api/include/torch/torch.h ]]; then
      (cd "${candidate}" && pwd)
      return
    fi
  done
  return 1
}

print_preset() {
  local torch
  torch="$(given_torch)" || torch="${deps}/libtorch/torch"
  if cuda_usable >/dev/null && [[ -e ${torch}/lib/libtorch_cuda.so || ! -e ${torch}/lib/libtorch_cpu.so ]]; then
    say cuda
  else
    say cpu
  fi
}

free_megabytes() { df -Pm "$1" | awk 'NR == 2 {print $4}'; }

# --- system packages --------------------------------------------------------------------------------------------------

missing_packages() {
  local name
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${Status}' "${name}" 2>/dev/null) == "install ok installed" ]] || say "${name}"
  done
}

have_pip() { command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1; }

install_packages() {
  local wanted=("${packages[@]}") missing id="" like="" as_root=()
  [[ ${with_developer} == yes ]] && wanted+=("${developer_packages[@]}")
  # pip is needed to fetch wheels only; one that came with the user's own Python is as good.
  if needs_wheels && ! have_pip; then wanted+=(python3-pip); fi
  if [[ -r /etc/os-release ]]; then
    id="$(sed -n 's/^ID=//p' /etc/os-release | tr -d '"')"
    like="$(sed -n 's/^ID_LIKE=//p' /etc/os-release | tr -d '"')"
  fi
  if [[ " ${id} ${like} " != *" debian "* && " ${id} ${like} " != *" ubuntu "* ]] || ! command -v apt-get >/dev/null; then
    fail 3 "this system (${id:-unknown}) is neither Debian nor Ubuntu, so packages are not installed by this script." \
      "To do: install what these Debian packages hold, then run again with NORMBENCH_NO_PACKAGES=1:" "${wanted[*]}"
  fi
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  if ((${#missing[@]} == 0)); then
    say "1. System packages: all ${#wanted[@]} are there."
    return
  fi
  say "1. System packages: ${#missing[@]} of ${#wanted[@]} are missing; up to 250 MB to fetch, 1 GB on disk, 1 to 3 min:"
  say "   ${missing[*]}" | fold -s -w 118 | sed '2,$s/^/   /'
  if [[ ${dry_run} == yes ]]; then
    say "   would run: apt-get update && apt-get install --no-install-recommends (as root)"
    return
  fi
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      # Asked before anything is fetched: a refusal would read like a fault of the package sources.
      sudo -v || fail 3 "packages are missing, and sudo refuses this user." \
        "To do, as root:" "apt-get update && apt-get install --no-install-recommends ${missing[*]}" "then run this again."
      as_root=(sudo)
    else
      fail 3 "packages are missing, and this user may not install them (not root, no sudo)." \
        "To do, as root:" "apt-get update && apt-get install --no-install-recommends ${missing[*]}" "then run this again."
    fi
  fi
  local free
  free="$(free_megabytes /usr)"
  ((free >= 1200)) || fail 3 "too little space for the packages on the file system of /usr." \
    "found: ${free} MB free; expected: 1200 MB" "To do: make room, then run again."

  local start=${SECONDS} log unknown=() name
  scratch="$(mktemp)"
  log="${scratch}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3)
  if ! "${apt[@]}" update >"${log}" 2>&1; then
    tail -n 5 "${log}" >&2
    fail 3 "apt-get update failed (its last lines are above)." "To do: repair the package sources or the network, then run again."
  fi
  for name in "${missing[@]}"; do
    apt-cache show "${name}" >/dev/null 2>&1 || unknown+=("${name}")
  done
  if ((${#unknown[@]})); then
    fail 3 "this release (${id}) has no package named: ${unknown[*]}" \
      "To do: install their contents by hand, then run again with NORMBENCH_NO_PACKAGES=1." \
      "On Ubuntu the component universe must be enabled: add-apt-repository universe"
  fi
  "${apt[@]}" install --assume-no --no-install-recommends "${missing[@]}" 2>/dev/null |
    grep -E '^(Need to get|After this operation)' | sed 's/^/   /' || true
  if ! "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >"${log}" 2>&1; then
    tail -n 20 "${log}" >&2
    fail 3 "apt-get install failed (its last lines are above)." \
      "To do: run it by hand and read its answer: apt-get install --no-install-recommends ${missing[*]}"
  fi
  rm -f "${scratch}"
  scratch=""
  elapsed "${start}"
}

# --- wheels -----------------------------------------------------------------------------------------------------------

# fetch_wheels FOLDER SPEC...: downloads into FOLDER; pip checks each SHA-256.
# The environment stays as it is: PIP_CERT and SSL_CERT_FILE are what makes pip work behind a company's proxy.
fetch_wheels() {
  local folder=$1 spec name hash
  shift
  for spec in "$@"; do
    IFS='|' read -r name hash _ <<<"${spec}"
    say "${name} --hash=sha256:${hash}"
  done >"${folder}/requirements.txt"
  if ! have_pip; then
    fail 3 "python3 has no pip, which fetches the wheels." "To do: apt-get install python3-pip, then run again."
  fi
  if ! python3 -m pip --disable-pip-version-check download --quiet --no-deps --no-cache-dir --require-hashes \
      --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none --platform manylinux_2_28_x86_64 \
      --platform manylinux_2_25_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
      --dest "${folder}" --requirement "${folder}/requirements.txt"; then
    fail 3 "pip could not fetch the wheels (its answer is above); nothing was changed." \
      "To do: check the network and pip's settings (proxy, PIP_CERT), then run again;" \
      "or set LIBTORCH to the folder of your own LibTorch ${torch_version}."
  fi
}

# unpack_wheels FOLDER TARGET PATTERN...: the members of all wheels in FOLDER that match a shell pattern.
unpack_wheels() {
  python3 - "$@" <<'PYTHON'
import fnmatch, glob, os, sys, zipfile
folder, target, patterns = sys.argv[1], sys.argv[2], sys.argv[3:]
for wheel in sorted(glob.glob(os.path.join(folder, "*.whl"))):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if any(fnmatch.fnmatchcase(member.filename, pattern) for pattern in patterns):
                path = archive.extract(member, target)
                mode = member.external_attr >> 16
                if mode & 0o111:
                    os.chmod(path, 0o755)
PYTHON
}

torch_variant() { if cuda_usable >/dev/null; then say cuda; else say cpu; fi; }

# What a complete folder says about itself, in its last written file. Another text means another folder.
torch_stamp() {
  local spec
  say "normbench LibTorch folder 1, $1"
  for spec in "${wheels_cpu[@]}"; do say "${spec%|*}"; done
  if [[ $1 == cuda ]]; then for spec in "${wheels_cuda[@]}"; do say "${spec%|*}"; done; fi
}

# torch_complete FOLDER VARIANT. A folder with the GPU libraries serves CPU programs too.
torch_complete() {
  local stamp
  [[ -f $1/STAMP && -s $1/torch/lib/libtorch_cpu.so ]] || return 1
  stamp="$(cat "$1/STAMP")"
  [[ ${stamp} == "$(torch_stamp "$2")" || ${stamp} == "$(torch_stamp cuda)" ]]
}

needs_wheels() {
  local variant
  variant="$(torch_variant)"
  if ! given_torch >/dev/null && ! torch_complete "${deps}/libtorch" "${variant}" &&
     ! torch_complete "$(cache_folder "${variant}")" "${variant}"; then
    return 0
  fi
  ! command -v cmake >/dev/null || cmake_too_old  # a system without CMake may turn out to have an old one
}

cache_folder() {  # prints nothing when there is none
  local cache="${NORMBENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:+${HOME}/.cache}}}"
  [[ -z ${cache} || ${cache} == off ]] && return
  if [[ -z ${NORMBENCH_CACHE:-} ]]; then cache+="/normbench"; fi
  say "${cache}/libtorch-${torch_version}-$1"
}

# A copy costs no space where hard links work: nobody writes into these folders.
copy_folder() {  # copy_folder FROM TO: complete or absent
  local temporary="$2.part.$$"
  rm -rf "${temporary}"
  mkdir -p "$(dirname "$2")" || return 1
  if ! cp -al "$1" "${temporary}" 2>/dev/null; then
    rm -rf "${temporary}"
    cp -a "$1" "${temporary}" || { rm -rf "${temporary}"; return 1; }
  fi
  rm -rf "$2"
  mv -T "${temporary}" "$2"
}

torch_megabytes() {  # torch_megabytes VARIANT: to fetch
  local spec megabytes=0 specs=("${wheels_cpu[@]}")
  if [[ $1 == cuda ]]; then specs+=("${wheels_cuda[@]}"); fi
  for spec in "${specs[@]}"; do megabytes=$((megabytes + ${spec##*|})); done
  say "${megabytes}"
}

unpacked_megabytes() { if [[ $1 == cuda ]]; then say 1400; else say 500; fi; }

check_torch_space() {  # check_torch_space VARIANT: wheels and what comes out of them lie there at one time
  local free need
  free="$(free_megabytes "${root}")"
  need=$(($(torch_megabytes "$1") + $(unpacked_megabytes "$1") + 100))
  ((free >= need)) || fail 3 "too little space for LibTorch in ${deps}." "found: ${free} MB free; expected: ${need} MB" \
    "To do: make room, or set LIBTORCH to the folder of your own LibTorch ${torch_version}."
}

# What would end this script half-way, asked before the first package is installed.
check_torch() {
  local variant
  given_torch >/dev/null && return
  if [[ -n ${LIBTORCH:-}${Torch_DIR:-} ]]; then
    fail 2 "LIBTORCH or Torch_DIR is set, but no LibTorch is there." "found: LIBTORCH='${LIBTORCH:-}' Torch_DIR='${Torch_DIR:-}'" \
      "expected: a folder with include/torch/csrc/api/include/torch/torch.h" "To do: correct it, or unset it to have LibTorch fetched."
  fi
  variant="$(torch_variant)"
  if torch_complete "${deps}/libtorch" "${variant}"; then return; fi
  [[ -w ${root} ]] || fail 3 "the folder ${deps} cannot be made." "To do: make ${root} writable for this user."
  if torch_complete "$(cache_folder "${variant}")" "${variant}"; then return; fi
  if [[ $(uname -sm) != "Linux x86_64" ]]; then
    fail 3 "there is no LibTorch ${torch_version} wheel with a C++ library for this machine ($(uname -sm))." \
      "To do: set LIBTORCH to the folder of your own LibTorch ${torch_version}, then run again."
  fi
  check_torch_space "${variant}"
}

install_torch() {
  local torch variant why cache start=${SECONDS} megabytes specs=("${wheels_cpu[@]}")
  if torch="$(given_torch)"; then
    say "2. LibTorch: yours, ${torch} (the build checks its version)."
    return
  fi
  why="$(cuda_usable)" || true
  variant="$(torch_variant)"
  if torch_complete "${deps}/libtorch" "${variant}"; then
    say "2. LibTorch ${torch_version} (${variant}): there."
    return
  fi
  cache="$(cache_folder "${variant}")"
  if [[ -n ${cache} ]] && torch_complete "${cache}" "${variant}"; then
    say "2. LibTorch ${torch_version} (${variant}): from the cache ${cache}, seconds."
    [[ ${dry_run} == yes ]] && return
    copy_folder "${cache}" "${deps}/libtorch" || fail 3 "LibTorch could not be copied into ${deps}." \
      "To do: check space and rights there, or remove ${cache}, then run again."
    elapsed "${start}"
    return
  fi
  if [[ ${variant} == cuda ]]; then specs+=("${wheels_cuda[@]}"); fi
  megabytes="$(torch_megabytes "${variant}")"
  say "2. LibTorch ${torch_version} for ${variant}${why:+ (${why})}: ${megabytes} MB from PyPI, about 1 min at 10 MB/s."
  local unpacked
  unpacked="$(unpacked_megabytes "${variant}")"
  say "   ${unpacked} MB on disk, in ${deps}/libtorch${cache:+ and as a cache in ${cache}}"
  [[ ${dry_run} == yes ]] && return
  mkdir -p "${deps}" 2>/dev/null || fail 3 "the folder ${deps} cannot be made." "To do: make ${root} writable for this user."
  exec 9>"${deps}/lock"  # one fetch at a time; whoever waited finds the work done
  flock 9
  if torch_complete "${deps}/libtorch" "${variant}"; then return; fi
  rm -rf "${deps}"/*.part.*  # left by a kill -9
  check_torch_space "${variant}"  # again: the packages took some

  scratch="$(mktemp -d "${deps}/libtorch.part.XXXXXX")"
  local temporary="${scratch}"
  mkdir "${temporary}/wheels" "${temporary}/libtorch"
  fetch_wheels "${temporary}/wheels" "${specs[@]}"
  # A CPU program loads c10, torch_cpu, their libgomp, and two small NVIDIA libraries that torch_cpu is linked to.
  local members=('torch/include/*' 'torch/lib/libc10.so' 'torch/lib/libtorch_cpu.so' 'torch/lib/libgomp*'
    'nvidia/cu13/lib/libcudart.so.13' 'nvidia/cu13/lib/libcupti.so.13' '*.dist-info/*LICENSE*' '*.dist-info/licenses/*')
  if [[ ${variant} == cuda ]]; then
    members+=('torch/lib/libc10_cuda.so' 'torch/lib/libtorch_*.so' 'torch/lib/libcaffe2_nvrtc.so' 'nvidia/*/lib/*.so*')
  fi
  unpack_wheels "${temporary}/wheels" "${temporary}/libtorch" "${members[@]}" ||
    fail 3 "the wheels could not be unpacked into ${deps} (the reason is above)." "To do: check space and rights, then run again."
  rm -f "${temporary}/libtorch/torch/lib/libtorch_python.so"
  torch_stamp "${variant}" >"${temporary}/libtorch/STAMP"
  rm -rf "${deps}/libtorch"
  mv -T "${temporary}/libtorch" "${deps}/libtorch"
  rm -rf "${temporary}"
  scratch=""
  if [[ -n ${cache} ]] && ! copy_folder "${deps}/libtorch" "${cache}" 2>/dev/null; then
    say "   (no copy in ${cache}: the next clone fetches again)"
  fi
  elapsed "${start}"
}

# --- CMake on Ubuntu 22.04 --------------------------------------------------------------------------------------------

cmake_too_old() {
  local version
  [[ -x ${deps}/cmake/cmake/data/bin/cmake ]] && return 1
  command -v cmake >/dev/null || return 1  # the package brings it
  version="$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')"
  [[ $(printf '%s\n3.25\n' "${version}" | sort -V | head -n 1) != 3.25 ]]
}

install_cmake() {
  cmake_too_old || return 0
  say "3. CMake ${cmake_wheel}, because the system's is older than 3.25: 24 MB from PyPI into ${deps}/cmake, some seconds."
  [[ ${dry_run} == yes ]] && return
  local start=${SECONDS}
  mkdir -p "${deps}"
  scratch="$(mktemp -d "${deps}/cmake.part.XXXXXX")"
  local temporary="${scratch}"
  mkdir "${temporary}/wheels"
  fetch_wheels "${temporary}/wheels" "cmake==${cmake_wheel}|f9587645cea5298d5eb20649f58a83cc53c9efa7d57b0716449a39f366a74986|24"
  unpack_wheels "${temporary}/wheels" "${temporary}/cmake" 'cmake/data/*'
  rm -rf "${deps}/cmake"
  mv -T "${temporary}/cmake" "${deps}/cmake"
  rm -rf "${temporary}"
  scratch=""
  elapsed "${start}"
}

main() {
  [[ ${NORMBENCH_NO_PACKAGES:-} == 1 ]] && with_packages=no
  while (($#)); do
    case $1 in
      --dry-run) dry_run=yes ;;
      --developer) with_developer=yes ;;
      --no-packages) with_packages=no ;;
      --print-preset) print_preset; exit 0 ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; fail 2 "unknown option: $1" ;;
    esac
    shift
  done
  check_torch
  if [[ ${with_packages} == yes ]]; then install_packages; else say "1. System packages: left alone, as asked."; fi
  install_torch
  install_cmake
}

main "$@"
