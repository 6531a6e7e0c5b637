#pragma once
// Which Strata this is: CMake and find_package read it here.

#define STRATA_VERSION_MAJOR 0
#define STRATA_VERSION_MINOR 1
#define STRATA_VERSION_PATCH 0
#define STRATA_VERSION "0.1.0"
/// A version as a number that the preprocessor compares: STRATA_VERSION_NUMBER >= STRATA_VERSION_OF(0, 1, 0).
#define STRATA_VERSION_OF(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#define STRATA_VERSION_NUMBER STRATA_VERSION_OF(STRATA_VERSION_MAJOR, STRATA_VERSION_MINOR, STRATA_VERSION_PATCH)
