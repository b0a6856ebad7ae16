#pragma once

/// Nonzero: y = alpha * A x + beta * y for sparse A. This is the one header most programs include.

#include <nonzero/algorithms/cg.hpp>
#include <nonzero/algorithms/heat.hpp>
#include <nonzero/algorithms/pagerank.hpp>
#include <nonzero/core/array.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/types.hpp>
#include <nonzero/core/vector.hpp>
#include <nonzero/core/version.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/formats/bsr.hpp>
#include <nonzero/formats/coo.hpp>
#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/sbsr.hpp>
#include <nonzero/formats/sell.hpp>
#include <nonzero/formats/tjds.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/generate.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>
#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/plan.hpp>
