# Two declarative lines a folder: normbench_library(<name> ...) and normbench_tests(<name> ...).
include(GoogleTest)

# One precompiled header, built once, for every target that includes <torch/torch.h>.
function(normbench_use_torch target)
  target_link_libraries(${target} PUBLIC torch::cpu)
  if(NORMBENCH_PCH)
    if(NOT TARGET normbench_torch_pch)
      file(WRITE "${CMAKE_BINARY_DIR}/pch.cpp" "")
      add_library(normbench_torch_pch OBJECT "${CMAKE_BINARY_DIR}/pch.cpp")
      target_link_libraries(normbench_torch_pch PUBLIC normbench_flags torch::cpu)
      target_precompile_headers(normbench_torch_pch PRIVATE <torch/torch.h>)
    endif()
    target_precompile_headers(${target} REUSE_FROM normbench_torch_pch)
  endif()
endfunction()

# normbench_library(<name> SOURCES ... [DEPS ...] [TORCH])
function(normbench_library name)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;DEPS" ${ARGN})
  add_library(normbench_${name} STATIC ${arg_SOURCES})
  add_library(normbench::${name} ALIAS normbench_${name})
  target_link_libraries(normbench_${name} PUBLIC normbench_flags ${arg_DEPS})
  if(arg_TORCH)
    normbench_use_torch(normbench_${name})
  endif()
endfunction()

# normbench_tests(<name> SOURCES ... [DEPS ...] [TORCH]): one GoogleTest program, one CTest test a case,
# named unit.<name>.<Suite>.<Case>.
function(normbench_tests name)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;DEPS" ${ARGN})
  add_executable(normbench_${name}_test ${arg_SOURCES})
  target_link_libraries(normbench_${name}_test PRIVATE normbench_flags normbench::${name} ${arg_DEPS} GTest::gtest_main)
  target_compile_definitions(normbench_${name}_test PRIVATE NORMBENCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(arg_TORCH)
    normbench_use_torch(normbench_${name}_test)
  endif()
  gtest_discover_tests(normbench_${name}_test TEST_PREFIX "unit.${name}." WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    DISCOVERY_TIMEOUT 120 PROPERTIES LABELS "kind.unit" TIMEOUT 300)
endfunction()
