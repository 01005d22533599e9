# Lint tests. The run and check tests come from `normbench plan`, after the build (see suite/app/CMakeLists.txt).
foreach(lint layers)
  add_test(NAME lint.${lint} COMMAND "${CMAKE_COMMAND}" -D "SOURCE_DIR=${CMAKE_SOURCE_DIR}" -P "${CMAKE_SOURCE_DIR}/suite/cmake/${lint}.cmake")
  set_tests_properties(lint.${lint} PROPERTIES LABELS "kind.lint" TIMEOUT 60)
endforeach()
