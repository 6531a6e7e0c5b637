# libstrata_jit.so: LLVM and clang, static and hidden, behind the C interface of strata_jit.h. Opened at the first compile.
#
#   AUTO        build it where LLVM 19 and clang's static libraries are found, otherwise do without
#   CLANG       build it, or stop
#   SUBPROCESS  do without: kernels go through the machine's C compiler at run time
#   OFF         the same
# The environment variable STRATA_JIT chooses at run time among what was built.
set_property(CACHE STRATA_JIT PROPERTY STRINGS AUTO CLANG SUBPROCESS OFF)
if(NOT STRATA_JIT MATCHES "^(AUTO|CLANG|SUBPROCESS|OFF)$")
  message(FATAL_ERROR "STRATA_JIT is '${STRATA_JIT}': it must be AUTO, CLANG, SUBPROCESS or OFF")
endif()

set(build_jit FALSE)
if(STRATA_JIT STREQUAL "CLANG")
  set(build_jit TRUE)
elseif(STRATA_JIT STREQUAL "AUTO")
  if(NOT STRATA_LLVM_WORKS)
    # A run of its own: a find_package that fails inside LLVM's files would end this one, and so would try_compile.
    set(probe_options -G ${CMAKE_GENERATOR} -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_C_COMPILER=${CMAKE_C_COMPILER})
    if(LLVM_DIR)
      list(APPEND probe_options -DLLVM_DIR=${LLVM_DIR})
    endif()
    if(CMAKE_MAKE_PROGRAM)
      list(APPEND probe_options -DCMAKE_MAKE_PROGRAM=${CMAKE_MAKE_PROGRAM})
    endif()
    set(probe ${CMAKE_BINARY_DIR}/probe_llvm)
    file(REMOVE_RECURSE ${probe})
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/probe_llvm -B ${probe} ${probe_options}
                    RESULT_VARIABLE probe_status OUTPUT_VARIABLE probe_output ERROR_VARIABLE probe_output)
    if(probe_status EQUAL 0)
      execute_process(COMMAND ${CMAKE_COMMAND} --build ${probe} RESULT_VARIABLE probe_status OUTPUT_VARIABLE probe_output ERROR_VARIABLE probe_output)
    endif()
    if(probe_status EQUAL 0)
      set(STRATA_LLVM_WORKS TRUE CACHE INTERNAL "LLVM 19 and clang can be linked")
    else()
      string(REGEX MATCH "CMake Error[^\n]*\n[^\n]*\n?[^\n]*" probe_reason "${probe_output}")
      message(STATUS "No in-process compiler: LLVM 19 with clang was not found (Debian: llvm-19-dev libclang-19-dev libzstd-dev zlib1g-dev). "
                     "Kernels will go through the machine's C compiler.\n   ${probe_reason}")
    endif()
  endif()
  set(build_jit ${STRATA_LLVM_WORKS})
endif()
if(NOT build_jit)
  return()
endif()

find_package(LLVM 19.1...<20 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
message(STATUS "In-process compiler: clang ${LLVM_PACKAGE_VERSION} from ${LLVM_INSTALL_PREFIX}")

add_library(strata_jit SHARED src/backend/cpu/jit_library/strata_jit.cpp)
target_include_directories(strata_jit PRIVATE src)
target_include_directories(strata_jit SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(strata_jit PRIVATE ${llvm_definitions} -fno-rtti -ffunction-sections -fdata-sections -Wall -Wextra
                       $<$<BOOL:${STRATA_WERROR}>:-Werror>)

# Not find_package(Clang): its targets pull in libLLVM.so beside the static LLVM. The archives by path, in one group; LLVMLTO by
# path too, because its component drags in libPolly.a, which Debian does not ship.
file(GLOB clang_archives ${LLVM_LIBRARY_DIR}/libclang*.a)
list(FILTER clang_archives EXCLUDE REGEX "libclang-cpp|clangTidy|clangDaemon|clangInterpreter")
set(components ${LLVM_NATIVE_ARCH} OrcJIT Passes AsmParser Option FrontendDriver FrontendHLSL FrontendOpenMP FrontendOffloading
    FrontendOpenACC Coverage HipStdPar ObjCARCOpts Instrumentation WindowsDriver)
llvm_map_components_to_libnames(llvm_archives ${components})
target_link_libraries(strata_jit PRIVATE -Wl,--start-group ${clang_archives} -Wl,--end-group ${LLVM_LIBRARY_DIR}/libLLVMLTO.a ${llvm_archives})

set(map ${CMAKE_CURRENT_SOURCE_DIR}/src/backend/cpu/jit_library/strata_jit.map)
# -z defs: an undefined symbol would otherwise show only when the library is opened.
target_link_options(strata_jit PRIVATE -static-libstdc++ -static-libgcc -s -Wl,--as-needed -Wl,-z,defs -Wl,-z,relro -Wl,-z,noexecstack
                    -Wl,--version-script=${map} -Wl,--gc-sections -Wl,-Bsymbolic)
set_target_properties(strata_jit PROPERTIES LINK_DEPENDS ${map})
if(EXISTS ${LLVM_TOOLS_BINARY_DIR}/ld.lld)  # 0.7 s against 3 s, and 76 MB against 84
  target_link_options(strata_jit PRIVATE -fuse-ld=lld -B${LLVM_TOOLS_BINARY_DIR} -Wl,--icf=all)
endif()
