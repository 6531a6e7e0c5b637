# The hand-written inner loops, once per instruction set.
set(STRATA_ISA_FLAGS_generic "")
set(isas generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND isas x86_64_v3 x86_64_v4)
  set(STRATA_ISA_FLAGS_x86_64_v3 -march=x86-64-v3)
  set(STRATA_ISA_FLAGS_x86_64_v4 -march=x86-64-v4 -mprefer-vector-width=512)
  target_compile_definitions(strata_kernels PRIVATE STRATA_X86)
endif()
foreach(isa IN LISTS isas)
  add_library(strata_isa_${isa} OBJECT src/kernels/isa/table.cpp)
  target_include_directories(strata_isa_${isa} PRIVATE include src)
  target_link_libraries(strata_isa_${isa} PRIVATE strata_options)
  # Fast in every build type.
  target_compile_options(strata_isa_${isa} PRIVATE -O3 -DSTRATA_ISA=${isa} ${STRATA_ISA_FLAGS_${isa}})
  list(APPEND STRATA_ISA_OBJECTS $<TARGET_OBJECTS:strata_isa_${isa}>)
endforeach()
# Fused multiply-adds: Intel's processors have no units of their own for additions.
set_source_files_properties(src/kernels/isa/table.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
