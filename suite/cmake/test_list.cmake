# Lint tests. The run and check tests come from `normbench plan`, after the build (see suite/app/CMakeLists.txt).
function(normbench_lint name)
  add_test(NAME lint.${name} COMMAND ${ARGN})
  set_tests_properties(lint.${name} PROPERTIES LABELS "kind.lint" TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()

set(cmake_folder "${CMAKE_SOURCE_DIR}/suite/cmake")
normbench_lint(layers "${CMAKE_COMMAND}" -D "SOURCE_DIR=${CMAKE_SOURCE_DIR}" -P "${cmake_folder}/layers.cmake")
foreach(rule ascii format paths shell tests)
  normbench_lint(${rule} "${cmake_folder}/lint.sh" ${rule} "${CMAKE_SOURCE_DIR}")
endforeach()
normbench_lint(rules_can_say_no "${cmake_folder}/lint_test.sh" "${CMAKE_COMMAND}")

# Which LibTorch a build takes, in a build of nothing that is configured several times.
add_test(NAME unit.cmake.torch COMMAND "${cmake_folder}/torch_test.sh" "${CMAKE_COMMAND}")
set_tests_properties(unit.cmake.torch PROPERTIES LABELS "kind.unit" TIMEOUT 120)

include(headers)
normbench_lint(headers "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target normbench_headers)

# `ctest --preset X` runs in build/current: the build of CMakePresets.json that was configured last.
get_filename_component(parent "${CMAKE_BINARY_DIR}" DIRECTORY)
get_filename_component(name "${CMAKE_BINARY_DIR}" NAME)
if(parent STREQUAL "${CMAKE_SOURCE_DIR}/build" AND NOT name STREQUAL "current")
  file(CREATE_LINK "${name}" "${parent}/current" SYMBOLIC RESULT ignored)
endif()
