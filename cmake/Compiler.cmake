# labelgrove_flags: an interface target with the flags shared by all our targets.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  message(FATAL_ERROR
    "LabelGrove's kernels use the vector extensions of GCC and Clang; found "
    "${CMAKE_CXX_COMPILER_ID}. On Windows choose clang-cl: cmake -T ClangCL.")
endif()

if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "LabelGrove needs GCC 12 or Clang 14, or newer; found "
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. CXX names another one.")
endif()

# clang-cl reads MSVC's command line, and takes Clang's flags with a prefix.
if(MSVC)
  set(LABELGROVE_FLAG_PREFIX "/clang:")
else()
  set(LABELGROVE_FLAG_PREFIX "")
endif()

function(labelgrove_prefixed_flags result)
  list(TRANSFORM ARGN PREPEND "${LABELGROVE_FLAG_PREFIX}")
  set(${result} "${ARGN}" PARENT_SCOPE)
endfunction()

add_library(labelgrove_flags INTERFACE)

# Nothing reads errno or floating-point exceptions. Never use -ffast-math: sums must not be
# reordered, and NaN must stay NaN. Compilers must not contract a product and a sum: every copy of a
# function, for whatever processor, must give the same bits.
labelgrove_prefixed_flags(math_flags -fno-math-errno -fno-trapping-math -ffp-contract=off)
target_compile_options(labelgrove_flags INTERFACE ${math_flags})

if(MSVC)
  target_compile_options(labelgrove_flags INTERFACE /W4 /utf-8)
  target_compile_definitions(labelgrove_flags INTERFACE NOMINMAX)
else()
  target_compile_options(labelgrove_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
    -Wno-psabi)  # vector types in signatures: these functions never leave their source file
endif()
if(LABELGROVE_WARNINGS_AS_ERRORS)
  labelgrove_prefixed_flags(werror -Werror)
  target_compile_options(labelgrove_flags INTERFACE ${werror})
endif()

if(LABELGROVE_SANITIZE)
  # Global, so that nanobind's own library is instrumented with the same runtime.
  add_compile_options(-fsanitize=${LABELGROVE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${LABELGROVE_SANITIZE})
  # Enables index checks in the standard library.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
