# Benchmarks in C++, built on request only: cmake --build BUILD --target latency
if(NOT TARGET strata)
  return()
endif()
add_executable(latency EXCLUDE_FROM_ALL benchmarks/latency.cpp)
target_link_libraries(latency PRIVATE strata_options strata::strata)
