# LibTorch 2.11 as imported targets over its folder. The library's own package file is not used: it stops without a
# CUDA toolkit even for CPU work, and takes 8 s to configure; this takes none.
#   TORCH_ROOT   the folder that holds include/ and lib/ (also read from the environment: LIBTORCH, Torch_DIR)
set(TORCH_ROOT "" CACHE PATH "Folder of LibTorch (holds include/ and lib/)")
if(NOT TORCH_ROOT)
  foreach(candidate "$ENV{LIBTORCH}" "$ENV{Torch_DIR}/../../.." "$ENV{Torch_DIR}"
          "${CMAKE_SOURCE_DIR}/.deps/libtorch/torch")
    if(NOT candidate STREQUAL "" AND EXISTS "${candidate}/include/torch/csrc/api/include/torch/torch.h")
      get_filename_component(candidate "${candidate}" ABSOLUTE)
      set(TORCH_ROOT "${candidate}" CACHE PATH "Folder of LibTorch (holds include/ and lib/)" FORCE)
      break()
    endif()
  endforeach()
endif()
if(NOT EXISTS "${TORCH_ROOT}/include/torch/csrc/api/include/torch/torch.h")
  message(FATAL_ERROR "LibTorch was not found (TORCH_ROOT='${TORCH_ROOT}').\n"
    "Expected: a folder with include/ and lib/ of LibTorch 2.11.\n"
    "What to do: run suite/bootstrap.sh, or set LIBTORCH to the folder of your own copy.")
endif()

file(READ "${TORCH_ROOT}/include/torch/headeronly/version.h" version_header)
string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" _ "${version_header}")
set(torch_version "${CMAKE_MATCH_1}")
string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" _ "${version_header}")
string(APPEND torch_version ".${CMAKE_MATCH_1}")
if(NOT torch_version STREQUAL "2.11")
  message(FATAL_ERROR "LibTorch in '${TORCH_ROOT}' is version ${torch_version}; expected 2.11.\n"
    "What to do: run suite/bootstrap.sh, or point LIBTORCH to a copy of 2.11.")
endif()

set(torch_includes "${TORCH_ROOT}/include" "${TORCH_ROOT}/include/torch/csrc/api/include")
foreach(lib c10 torch_cpu)
  add_library(torch::${lib} SHARED IMPORTED)
  set_target_properties(torch::${lib} PROPERTIES
    IMPORTED_LOCATION "${TORCH_ROOT}/lib/lib${lib}.so" IMPORTED_SONAME "lib${lib}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${torch_includes}")
endforeach()
add_library(normbench_torch INTERFACE)
add_library(torch::cpu ALIAS normbench_torch)
target_link_libraries(normbench_torch INTERFACE torch::torch_cpu torch::c10 Threads::Threads)

if(NORMBENCH_CUDA)
  include(cuda)
endif()
