#pragma once

#include <string>

#include <nonzero/algorithms/cg.hpp>

namespace nz::cli {

/// Draws the residual over the iterations, the tolerance, and the residual that was found anew at the end
/// where that is another than the loop believed in. Throws `nz::error` where it cannot be written.
template <class V>
void write_residual_plot(const std::string& path, const std::string& title, double tolerance,
                         const cg_result<V>& found);

}  // namespace nz::cli
