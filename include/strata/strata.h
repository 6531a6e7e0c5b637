#pragma once
// Everything. Each header is a page of its own: format -> tensor -> expression -> plan -> result.
#include "strata/buffer.h"
#include "strata/draw.h"
#include "strata/dtype.h"
#include "strata/error.h"
#include "strata/expr.h"
#include "strata/format.h"
#include "strata/io.h"
#include "strata/ops.h"
#include "strata/plan.h"
#include "strata/settings.h"
#include "strata/static_format.h"
#include "strata/tensor.h"
