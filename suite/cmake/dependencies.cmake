# Every torch-free library. suite/bootstrap.sh installs the Debian packages that hold them.
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(LibArchive REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# Not by pkg-config: Debian 13's file asks for the headers of protobuf, which nobody needs who links the library.
find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h REQUIRED)
find_library(SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
find_library(SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train REQUIRED)
add_library(normbench::sentencepiece UNKNOWN IMPORTED)
set_target_properties(normbench::sentencepiece PROPERTIES IMPORTED_LOCATION "${SENTENCEPIECE_LIBRARY}"
  INTERFACE_LINK_LIBRARIES "${SENTENCEPIECE_TRAIN_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SENTENCEPIECE_INCLUDE_DIR}")

# Headers only; older packages bring no CMake file.
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp REQUIRED)
add_library(normbench::valijson INTERFACE IMPORTED)
set_target_properties(normbench::valijson PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${VALIJSON_INCLUDE_DIR}")
