#include <string>

#include <nonzero/core/values.hpp>
#include <nonzero/kernel/vector_kernels.hpp>

namespace nz {

template <class V>
template <class... Vectors>
void vector_kernels<V>::require_fit(const Vectors&... vectors) const {
  for (const vector<V>* x : {&vectors...}) {
    if (x->size() != size_)
      throw shape_error("these kernels are for vectors of " + std::to_string(size_) + ", and this one has " +
                        std::to_string(x->size()));
    if (size_ > 0 && x->where() != on_)
      throw device_error("a vector must be on the device that its kernels are for: " + on_->description());
  }
}

template <class V> void vector_kernels<V>::require_number(const vector<V>& numbers, std::size_t at) const {
  if (at >= numbers.size())
    throw shape_error("there are " + std::to_string(numbers.size()) + " numbers, and none at " +
                      std::to_string(at));
  if (numbers.where() != on_)
    throw device_error("numbers must be on the device that the kernels are for: " + on_->description());
}

template <class V>
void vector_kernels<V>::dot(const vector<V>& x, const vector<V>& y, vector<V>& to, std::size_t at,
                            stream in) const {
  require_fit(x, y);
  require_number(to, at);
  run_dot(x.data(), y.data(), to.data() + at, in);
}

template <class V>
void vector_kernels<V>::norm2(const vector<V>& x, vector<V>& to, std::size_t at, stream in) const {
  require_fit(x);
  require_number(to, at);
  run_norm2(x.data(), to.data() + at, in);
}

template <class V> void vector_kernels<V>::axpy(V alpha, const vector<V>& x, vector<V>& y, stream in) const {
  require_fit(x, y);
  run_axpy(alpha, nullptr, x.data(), y.data(), in);
}

template <class V>
void vector_kernels<V>::axpy(const vector<V>& numbers, std::size_t at, const vector<V>& x, vector<V>& y,
                             stream in) const {
  require_fit(x, y);
  require_number(numbers, at);
  run_axpy(V{0}, numbers.data() + at, x.data(), y.data(), in);
}

template <class V> void vector_kernels<V>::scale(V alpha, vector<V>& x, stream in) const {
  require_fit(x);
  run_scale(alpha, nullptr, x.data(), in);
}

template <class V>
void vector_kernels<V>::scale(const vector<V>& numbers, std::size_t at, vector<V>& x, stream in) const {
  require_fit(x);
  require_number(numbers, at);
  run_scale(V{0}, numbers.data() + at, x.data(), in);
}

template <class V>
void vector_kernels<V>::divide(vector<V>& numbers, std::size_t over, std::size_t under, std::size_t to,
                               stream in) const {
  require_number(numbers, over);
  require_number(numbers, under);
  require_number(numbers, to + 1);
  run_divide(numbers.data() + over, numbers.data() + under, numbers.data() + to, in);
}

template <class V>
void vector_kernels<V>::multiply(const vector<V>& x, const vector<V>& y, vector<V>& z, stream in) const {
  require_fit(x, y, z);
  run_multiply(x.data(), y.data(), z.data(), in);
}

#define NONZERO_INSTANTIATE(V) template class vector_kernels<V>;
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
