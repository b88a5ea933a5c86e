# labelgrove_core: the engine, a static library that knows no Python.

file(GLOB core_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/src/*.cpp")
file(GLOB core_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/include/labelgrove/*.hpp")
set(kernel_sources "${PROJECT_SOURCE_DIR}/core/src/kernels.cpp"
                   "${PROJECT_SOURCE_DIR}/core/src/compact_kernels.cpp"
                   "${PROJECT_SOURCE_DIR}/core/src/half_kernels.cpp"
                   "${PROJECT_SOURCE_DIR}/core/src/vector_kernels.cpp")
list(REMOVE_ITEM core_sources ${kernel_sources})

add_library(labelgrove_core STATIC ${core_sources} ${core_headers})
set_target_properties(labelgrove_core PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(labelgrove_core PUBLIC "${PROJECT_SOURCE_DIR}/core/include")
target_link_libraries(labelgrove_core PRIVATE labelgrove_flags)
find_package(Threads REQUIRED)
target_link_libraries(labelgrove_core PUBLIC Threads::Threads)

# CMake's Release means -O3 for GCC and Clang, and -O2 for clang-cl; RelWithDebInfo means -O2.
# Sanitizer builds are run once and are not optimised: compiling them takes longer than running
# them.
if(LABELGROVE_SANITIZE)
  set(optimise "")
else()
  labelgrove_prefixed_flags(optimise -O3)
  set(optimise "$<$<NOT:$<CONFIG:Debug>>:${optimise}>")
endif()
target_compile_options(labelgrove_core PRIVATE ${optimise})

# Headers of the standard library, which take longer to parse than most files to compile.
target_precompile_headers(labelgrove_core PRIVATE
  <algorithm> <cmath> <cstdint> <functional> <span> <stdexcept> <string> <vector>)
# Our own headers are parsed once for eight files, which halves the time. With ccache, as developers
# have it, every file is compiled separately.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set_target_properties(labelgrove_core PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
endif()

# The kernels are compiled once per instruction set, each in an object library of its own; the
# dispatcher picks one at run time. LABELGROVE_KERNEL_VARIANT names the copy, and
# LABELGROVE_HAVE_<NAME> tells the dispatcher which copies exist in addition to the baseline.
function(labelgrove_add_kernels variant)
  set(name labelgrove_kernels_${variant})
  add_library(${name} OBJECT ${kernel_sources})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/core/include")
  target_compile_definitions(${name} PRIVATE LABELGROVE_KERNEL_VARIANT=${variant})
  target_link_libraries(${name} PRIVATE labelgrove_flags)
  labelgrove_prefixed_flags(flags ${ARGN})
  target_compile_options(${name} PRIVATE ${optimise} ${flags})
  target_sources(labelgrove_core PRIVATE $<TARGET_OBJECTS:${name}>)
  if(NOT variant STREQUAL "baseline")
    string(TOUPPER "LABELGROVE_HAVE_${variant}" have)
    target_compile_definitions(labelgrove_core PUBLIC ${have}=1)
  endif()
endfunction()

set(cpu "${CMAKE_SYSTEM_PROCESSOR}")
if(CMAKE_OSX_ARCHITECTURES)
  set(cpu "${CMAKE_OSX_ARCHITECTURES}")
endif()
labelgrove_add_kernels(baseline)
if(cpu MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  labelgrove_add_kernels(avx2 -mavx2 -mpopcnt)
  labelgrove_add_kernels(avx512 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mpopcnt)
  if(MSVC)
    # clang-cl does not link its own runtime, which contains the data of __builtin_cpu_supports.
    target_link_options(labelgrove_core INTERFACE "/DEFAULTLIB:clang_rt.builtins-x86_64.lib")
  endif()
endif()
