# torch::cuda: torch::cpu plus LibTorch's GPU libraries, the CUDA runtime and NCCL; and the language CUDA.
# Included by torch.cmake when NORMBENCH_CUDA is on. Without a device all of it builds, links and starts.

# FindCUDAToolkit of CMake < 3.26 stops at toolkit 13, which no longer has this library.
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # before enable_language; LibTorch loads the shared one, two would not agree
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "NORMBENCH_CUDA is on, but nvcc was not found.\n"
    "Expected: CUDA toolkit 13, nvcc on PATH or CUDACXX set.\n"
    "What to do: install it, add its bin folder to PATH, or use the preset cpu.")
endif()
enable_language(CUDA)
find_package(CUDAToolkit 13 REQUIRED)

if(NOT EXISTS "${TORCH_ROOT}/lib/libtorch_cuda.so")
  message(FATAL_ERROR "NORMBENCH_CUDA is on, but '${TORCH_ROOT}/lib' has no libtorch_cuda.so.\n"
    "What to do: run suite/bootstrap.sh on this machine (it adds the GPU libraries where it finds the toolkit), "
    "point LIBTORCH to a copy with CUDA, or use the preset cpu.")
endif()

find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS "${CUDAToolkit_BIN_DIR}/../lib64" "${CUDAToolkit_BIN_DIR}/../lib")
if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
  message(FATAL_ERROR "NORMBENCH_CUDA is on, but NCCL was not found (nccl.h: ${NCCL_INCLUDE_DIR}, library: "
    "${NCCL_LIBRARY}).\nWhat to do: install libnccl-dev, or set NCCL_INCLUDE_DIR and NCCL_LIBRARY.")
endif()
add_library(normbench::nccl UNKNOWN IMPORTED)
set_target_properties(normbench::nccl PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")

add_library(torch::c10_cuda SHARED IMPORTED)
set_target_properties(torch::c10_cuda PROPERTIES IMPORTED_LOCATION "${TORCH_ROOT}/lib/libc10_cuda.so"
  IMPORTED_SONAME "libc10_cuda.so" INTERFACE_INCLUDE_DIRECTORIES "${torch_includes}")

add_library(normbench_torch_cuda INTERFACE)
add_library(torch::cuda ALIAS normbench_torch_cuda)
target_link_libraries(normbench_torch_cuda INTERFACE
  torch::cpu torch::c10_cuda
  # Nobody calls into libtorch_cuda by name: it registers itself when loaded, and --as-needed would drop it.
  "-Wl,--push-state,--no-as-needed,${TORCH_ROOT}/lib/libtorch_cuda.so,--pop-state"
  CUDA::cudart normbench::nccl)
# RPATH, not RUNPATH: it also serves the libraries that libtorch_cuda itself asks for (cuDNN, cuSPARSELt, ...).
target_link_options(normbench_torch_cuda INTERFACE "LINKER:--disable-new-dtags"
  "LINKER:-rpath-link,${CUDAToolkit_LIBRARY_DIR}")

# CMake 3.25 drops CMAKE_CUDA_STANDARD 20 without a word: targets with .cu files call this.
function(normbench_cuda_flags target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD_REQUIRED OFF)
endfunction()
