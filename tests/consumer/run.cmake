# Installs the build folder BUILD into a prefix of its own and builds and runs the consumer against it, nothing else in reach.
set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix --component Unspecified)
# The folder is moved once, as packages are.
file(RENAME ${work}/prefix ${work}/moved)
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/moved -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${CMAKE_COMMAND} -E env STRATA_CACHE=off ${work}/build/consumer)

# The examples as a project of their own, as their CMakeLists.txt says.
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/../../examples/cpp -B ${work}/examples -DCMAKE_PREFIX_PATH=${work}/moved -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${work}/examples)
step(${CMAKE_CTEST_COMMAND} --test-dir ${work}/examples --output-on-failure)

# The library shows its own names and nobody else's.
file(GLOB library ${work}/moved/lib*/libstrata.so ${work}/moved/lib/*/libstrata.so)
list(GET library 0 library)
execute_process(COMMAND nm -D --defined-only --demangle ${library} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" names "${names}")
list(FILTER names EXCLUDE REGEX " [A-Za-z] ((non-virtual thunk to|typeinfo for|typeinfo name for|vtable for|VTT for|guard variable for) )?([^(]* )?strata::")
if(names)
  list(JOIN names "\n  " names)
  message(FATAL_ERROR "libstrata.so exports foreign names:\n  ${names}")
endif()
