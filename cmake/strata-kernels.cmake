# strata_add_kernel(TARGET NAME EXPRESSION [OPERAND=FORMAT ...]
#                   [DTYPE float64] [SEMIRING min-plus] [EXTENT 1000] [ARCH native])
#
# Generates the kernel of an expression when TARGET is built, and compiles it into TARGET: function NAME in C, declared in
# NAME.h, which C and C++ include. The first comment of NAME.c says what its arguments are. ARCH is the compiler's -march=
# (the instructions of the machine that builds, unless told).
function(strata_add_kernel target name expression)
  cmake_parse_arguments(PARSE_ARGV 3 kernel "" "DTYPE;SEMIRING;EXTENT;ARCH" "")
  if(NOT CMAKE_C_COMPILER_LOADED)
    message(FATAL_ERROR "strata_add_kernel(${target} ${name}): kernels are C. Write project(... LANGUAGES C CXX).")
  endif()
  set(options --name ${name})
  foreach(option IN ITEMS DTYPE SEMIRING EXTENT)
    if(DEFINED kernel_${option})
      string(TOLOWER ${option} word)
      list(APPEND options --${word} ${kernel_${option}})
    endif()
  endforeach()
  if(NOT DEFINED kernel_ARCH)
    set(kernel_ARCH native)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels)
  file(MAKE_DIRECTORY ${folder})
  string(TOUPPER ${name} guard)
  file(CONFIGURE OUTPUT ${folder}/${name}.h @ONLY CONTENT
"/* @expression@ (strata_add_kernel) */
#ifndef STRATA_KERNEL_@guard@_H
#define STRATA_KERNEL_@guard@_H
#ifdef __cplusplus
extern \"C\"
#endif
int @name@(void* const* buffers, const long long* scalars, long long begin, long long end, long long chunk);
#endif
")
  add_custom_command(OUTPUT ${folder}/${name}.c
    COMMAND strata::strata_emit ${expression} ${kernel_UNPARSED_ARGUMENTS} ${options} -o ${folder}/${name}.c
    DEPENDS strata::strata_emit COMMENT "Kernel ${name}: ${expression}" VERBATIM)
  set_source_files_properties(${folder}/${name}.c PROPERTIES
    COMPILE_OPTIONS "-O3;-march=${kernel_ARCH};-ffp-contract=off;-fwrapv")
  target_sources(${target} PRIVATE ${folder}/${name}.c)
  target_include_directories(${target} PRIVATE ${folder})
  target_link_libraries(${target} PRIVATE m)
endfunction()
