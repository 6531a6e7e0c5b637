# The Python extension strata._core: the core's objects and one binding file per front door. It links neither libtorch nor
# CUDA nor OpenMP; libstrata_jit.so lies beside it and is opened at the first compile.
if(NOT STRATA_PYTHON)
  return()
endif()
find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT ERROR_QUIET)
find_package(nanobind CONFIG REQUIRED)

file(GLOB bindings CONFIGURE_DEPENDS python/bind/*.cpp)
nanobind_add_module(_core NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE FREE_THREADED NB_DOMAIN strata ${bindings} ${objects})
target_include_directories(_core PRIVATE include src)
strata_precompile(_core)
target_compile_options(_core PRIVATE $<$<CONFIG:Release>:-O2>)
target_link_libraries(_core PRIVATE strata_options strata_aot_table Threads::Threads ${CMAKE_DL_LIBS})
# Python needs one symbol of it.
set(map ${CMAKE_CURRENT_LIST_DIR}/extension.map)
target_link_options(_core PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic)
set_target_properties(_core PROPERTIES LINK_DEPENDS ${map})
install(TARGETS _core LIBRARY DESTINATION strata COMPONENT python)
if(TARGET strata_jit)
  add_dependencies(_core strata_jit)
  install(TARGETS strata_jit LIBRARY DESTINATION strata COMPONENT python)
endif()
