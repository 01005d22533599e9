# Every torch-free header alone in one source, twice: it includes what it needs and guards itself. The others stand
# first in a source of their own and take half a minute each without the precompiled header.
file(GLOB headers RELATIVE "${CMAKE_SOURCE_DIR}" CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/suite/base/*.h"
  "${CMAKE_SOURCE_DIR}/suite/judge/*.h" "${CMAKE_SOURCE_DIR}/suite/plan/*.h" "${CMAKE_SOURCE_DIR}/data/*.h")
set(header_sources)
foreach(header ${headers})
  string(REPLACE "/" "_" name "${header}")
  set(source "${CMAKE_BINARY_DIR}/headers/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n#include \"${header}\"  // again\n")
  list(APPEND header_sources "${source}")
endforeach()
if(header_sources)
  add_library(normbench_headers OBJECT ${header_sources})
  target_link_libraries(normbench_headers PRIVATE normbench_flags nlohmann_json::nlohmann_json Eigen3::Eigen)
  set_target_properties(normbench_headers PROPERTIES UNITY_BUILD OFF)
endif()
