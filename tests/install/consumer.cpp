#include <nonzero/nonzero.hpp>

int main() {
  if (nz::version() != nz::version_string) return 1;
  const nz::csr<double> a{2, 3, {0, 2, 3}, {0, 2, 1}, {3, 1, 2}};  // [3 0 1; 0 2 0]
  nz::validate(a);
  const nz::array<double> x{1, 10, 100};
  nz::array<double> y{5, 7};
  nz::find_kernel("csr_serial").prepare(a)->multiply(2.0, x, -1.0, y);  // y = 2 A x - y
  return y == nz::array<double>{201, 33} ? 0 : 1;
}
