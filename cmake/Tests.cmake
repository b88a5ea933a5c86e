# core_tests: one executable built from all files of core/tests.

enable_testing()
file(GLOB test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/tests/*.cpp")
add_executable(core_tests ${test_sources})
target_include_directories(core_tests PRIVATE "${PROJECT_SOURCE_DIR}/core/tests")
target_link_libraries(core_tests PRIVATE labelgrove_core labelgrove_flags)
target_precompile_headers(core_tests PRIVATE <harness.hpp>
  <algorithm> <cmath> <cstdint> <functional> <span> <stdexcept> <string> <vector>)
add_test(NAME core_tests COMMAND core_tests)
# Runs the tests with the kernels of lesser processors, too; core_tests itself uses the best
# variant. Kernels do not use threads, so under the slow ThreadSanitizer one run is enough.
if(TARGET labelgrove_kernels_avx2 AND NOT LABELGROVE_SANITIZE STREQUAL "thread")
  foreach(variant IN ITEMS baseline avx2)
    add_test(NAME core_tests_${variant} COMMAND core_tests)
    set_tests_properties(core_tests_${variant} PROPERTIES ENVIRONMENT LABELGROVE_KERNELS=${variant})
  endforeach()
endif()

# Sanitizers emit shared symbols of their own.
if(TARGET labelgrove_kernels_avx2 AND CMAKE_NM AND NOT MSVC AND NOT LABELGROVE_SANITIZE)
  set(objects "$<TARGET_OBJECTS:labelgrove_kernels_avx2>;$<TARGET_OBJECTS:labelgrove_kernels_avx512>")
  add_test(NAME kernel_symbols COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DOBJECTS=${objects}"
                                       -P "${PROJECT_SOURCE_DIR}/cmake/KernelSymbols.cmake")
endif()
