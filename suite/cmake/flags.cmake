# Language level, warnings, and the flags that can change a result.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")  # no -DNDEBUG: NORMBENCH_CHECK and assert stay on
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")  # the preset asan; likewise

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(normbench_flags INTERFACE)
target_include_directories(normbench_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(normbench_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-unused-parameter>
  # Fused multiply-adds change last digits, and a compiler inserts them at will: only kernels that write them get them.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# Kernels are compiled for one fixed ISA level, so that their rounding does not depend on the machine.
add_library(normbench_kernel_flags INTERFACE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(normbench_kernel_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-O3 -march=x86-64-v3 -fopenmp-simd -fno-math-errno -fno-trapping-math>)
else()
  target_compile_options(normbench_kernel_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-O3 -fopenmp-simd -fno-math-errno -fno-trapping-math>)
endif()
