# Kernels compiled ahead of time, so that the first call of a common one needs no compiler:
#
#   strata_aot (src/plan/aot_tool/)          prints the C texts of the common kernels, and list.txt
#   strata_aot_objects (src/backend/cpu/aot) compiles them for each instruction set, with our own clang where it was built
#   strata_aot_table                         the objects, and a table that registers those that fit the processor
#
# An object is named by the hash of its text and compiler, so an unchanged text costs nothing.
add_library(strata_aot_table INTERFACE)
file(GLOB aot_sources CONFIGURE_DEPENDS src/plan/aot_tool/*.cpp)
if(NOT aot_sources OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR STRATA_SANITIZE OR NOT STRATA_AOT)
  return()
endif()

foreach(tool IN ITEMS strata_aot strata_aot_objects)
  if(tool STREQUAL strata_aot)
    add_executable(${tool} ${aot_sources} ${objects})
  else()
    add_executable(${tool} src/backend/cpu/aot/main.cpp $<TARGET_OBJECTS:strata_base> $<TARGET_OBJECTS:strata_backend>)
  endif()
  target_include_directories(${tool} PRIVATE include src)
  target_link_libraries(${tool} PRIVATE strata_options Threads::Threads ${CMAKE_DL_LIBS})
endforeach()

set(aot_dir ${CMAKE_BINARY_DIR}/aot)
set(aot_jit "")
if(TARGET strata_jit)
  set(aot_jit $<TARGET_FILE:strata_jit>)
endif()
add_custom_command(
  OUTPUT ${aot_dir}/texts/list.txt
  COMMAND ${CMAKE_COMMAND} -E make_directory ${aot_dir}/texts
  COMMAND ${CMAKE_COMMAND} -E env STRATA_JIT=off STRATA_CACHE=off $<TARGET_FILE:strata_aot> ${aot_dir}/texts
  DEPENDS strata_aot COMMENT "Texts of the kernels compiled ahead of time" VERBATIM)
add_custom_command(
  OUTPUT ${aot_dir}/table.cpp ${aot_dir}/libstrata_aot.a
  COMMAND ${CMAKE_COMMAND} -E env STRATA_JIT_LIBRARY=${aot_jit} STRATA_CC=${CMAKE_C_COMPILER}
          $<TARGET_FILE:strata_aot_objects> ${aot_dir}/texts ${aot_dir}/objects ${aot_dir}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${aot_dir}/libstrata_aot.a
  COMMAND ${CMAKE_AR} rcs ${aot_dir}/libstrata_aot.a @${aot_dir}/objects.rsp
  DEPENDS strata_aot_objects ${aot_dir}/texts/list.txt $<$<TARGET_EXISTS:strata_jit>:strata_jit>
  COMMENT "Kernels ahead of time" VERBATIM)
add_library(strata_aot_register OBJECT ${aot_dir}/table.cpp)
target_include_directories(strata_aot_register PRIVATE include src)
target_link_libraries(strata_aot_register PRIVATE strata_options)
add_custom_target(strata_aot_archive DEPENDS ${aot_dir}/libstrata_aot.a)
add_dependencies(strata_aot_register strata_aot_archive)
add_dependencies(strata_aot_table strata_aot_register)
target_link_libraries(strata_aot_table INTERFACE $<TARGET_OBJECTS:strata_aot_register> ${aot_dir}/libstrata_aot.a)
