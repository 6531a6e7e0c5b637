# What every file parses first, parsed once a target: half of the time that most files take to compile. Nothing of ours
# stands here, so that a change of ours precompiles nothing anew. A file still includes what it uses: scripts/nightly
# builds with STRATA_PRECOMPILE=OFF.
option(STRATA_PRECOMPILE "Precompile the headers of the standard library" ON)
function(strata_precompile target)
  if(STRATA_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <limits> <map> <memory> <numeric> <optional>
      <set> <span> <sstream> <stdexcept> <string> <string_view> <utility> <vector> ${ARGN})
  endif()
endfunction()
