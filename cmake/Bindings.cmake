# _core: the Python extension.

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT
  COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind 3.1 CONFIG REQUIRED)

file(GLOB binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bindings/*.cpp")
nanobind_add_module(_core NB_STATIC STABLE_ABI NB_SUPPRESS_WARNINGS NB_DOMAIN labelgrove
                    ${binding_sources})
target_link_libraries(_core PRIVATE labelgrove_core labelgrove_flags)
target_precompile_headers(_core PRIVATE <nanobind/nanobind.h> <nanobind/ndarray.h>
  <algorithm> <cstdint> <span> <string> <vector>)
# nanobind's own library, whose name depends on Python's version, as a single translation unit: this
# takes a quarter of the time.
get_target_property(nanobind_library _core LINK_LIBRARIES)
list(FILTER nanobind_library INCLUDE REGEX "^nanobind-static")
set_target_properties(${nanobind_library} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
install(TARGETS _core LIBRARY DESTINATION labelgrove COMPONENT python)

if(LABELGROVE_INPLACE)
  set(package "${PROJECT_SOURCE_DIR}/src/labelgrove")
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${package}")
  # The stub is committed for type checkers and readers; every developer build regenerates it.
  nanobind_add_stub(_core_stub MODULE _core PYTHON_PATH "${package}"
                    OUTPUT "${package}/_core.pyi" DEPENDS _core)
endif()
