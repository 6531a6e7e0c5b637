# What every file parses first, parsed once a target: a quarter to a third of clang's time for a file. Nothing of ours
# stands here, so that a change of ours precompiles nothing anew. A file still includes what it uses: scripts/nightly
# builds without. (GCC gains less, and forgets that these headers are the system's: false alarms on std::string.)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(precompile ON)
else()
  set(precompile OFF)
endif()
option(STRATA_PRECOMPILE "Precompile the headers of the standard library" ${precompile})
function(strata_precompile target)
  if(STRATA_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric> <optional>
      <set> <span> <sstream> <stdexcept> <string> <string_view> <utility> <vector> ${ARGN})
  endif()
endfunction()
