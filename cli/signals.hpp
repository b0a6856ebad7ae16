#pragma once

namespace nz::cli {

/// From here on, a signal that ends the program (interrupt, terminate, hang-up, broken pipe) first removes
/// the output file that is being written.
void clean_up_on_signals();

}  // namespace nz::cli
