# LibTorch 2.11 as imported targets over its folder. The library's own package file is not used: it stops without a
# CUDA toolkit even for CPU work, and takes 8 s to configure; this takes none.
#   TORCH_ROOT   the folder that holds include/ and lib/. The environment's, LIBTORCH or Torch_DIR (the rule of
#                suite/bootstrap.sh, which names the same folder), wins over the one of an earlier configure; without either
#                the one of the earlier configure as long as it is there (so that ninja may configure again in another
#                shell), then what bootstrap.sh fetched.
set(TORCH_ROOT "" CACHE PATH "Folder of LibTorch (holds include/ and lib/)")
set(torch_header "include/torch/csrc/api/include/torch/torch.h")
set(candidates)
foreach(candidate "$ENV{LIBTORCH}" "$ENV{Torch_DIR}/../../.." "$ENV{Torch_DIR}")
  if(candidate AND NOT candidate STREQUAL "/../../..")
    list(APPEND candidates "${candidate}")
  endif()
endforeach()
set(from_environment "${candidates}")
if(NOT from_environment)
  set(candidates "${TORCH_ROOT}" "${CMAKE_SOURCE_DIR}/.deps/libtorch/torch")
  if(TORCH_ROOT AND NOT EXISTS "${TORCH_ROOT}/${torch_header}")
    message(WARNING "TORCH_ROOT='${TORCH_ROOT}' holds no LibTorch; it is searched anew.")
  endif()
endif()
set(found)
foreach(candidate IN LISTS candidates)
  get_filename_component(candidate "${candidate}" ABSOLUTE)
  if(EXISTS "${candidate}/${torch_header}")
    set(found "${candidate}")
    break()
  endif()
endforeach()
if(NOT found AND from_environment)
  message(FATAL_ERROR "LIBTORCH or Torch_DIR is set, but no LibTorch is there (LIBTORCH='$ENV{LIBTORCH}', "
    "Torch_DIR='$ENV{Torch_DIR}').\nExpected: a folder with ${torch_header}.\n"
    "What to do: correct it, or unset it to use the copy that suite/bootstrap.sh fetches.")
elseif(NOT found)
  message(FATAL_ERROR "LibTorch was not found (TORCH_ROOT='${TORCH_ROOT}').\n"
    "Expected: a folder with include/ and lib/ of LibTorch 2.11.\n"
    "What to do: run suite/bootstrap.sh, or set LIBTORCH to the folder of your own copy.")
endif()

file(READ "${found}/include/torch/headeronly/version.h" version_header)
string(REGEX MATCH "TORCH_VERSION_MAJOR ([0-9]+)" _ "${version_header}")
set(torch_version "${CMAKE_MATCH_1}")
string(REGEX MATCH "TORCH_VERSION_MINOR ([0-9]+)" _ "${version_header}")
string(APPEND torch_version ".${CMAKE_MATCH_1}")
if(NOT torch_version STREQUAL "2.11")
  message(FATAL_ERROR "LibTorch in '${found}' is version ${torch_version}; expected 2.11.\n"
    "What to do: run suite/bootstrap.sh, or point LIBTORCH to a copy of 2.11.")
endif()
# Last, so that a wrong folder is not remembered.
set(TORCH_ROOT "${found}" CACHE PATH "Folder of LibTorch (holds include/ and lib/)" FORCE)
message(STATUS "LibTorch: ${TORCH_ROOT}")

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
