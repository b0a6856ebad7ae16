#include <algorithm>
#include <cstddef>
#include <limits>
#include <mutex>
#include <type_traits>

#include <cusparse.h>

#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>
#include <nonzero/gpu/cuda/sliced_ell_internal.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/prepared_on_gpu.cuh>

// cuSPARSE's multiplies (https://docs.nvidia.com/cuda/cusparse/, cusparseSpMV) as rows of the table, to
// compare ours with. Which of them are bitwise repeatable is what its table of algorithms says.
namespace nz {
namespace {

/// The functions of cuSPARSE that the peers call.
struct cusparse_library : loaded_library {
  cusparse_library() : loaded_library("cuSPARSE", "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR)) {}

  decltype(&cusparseCreate) create = find("cusparseCreate");
  decltype(&cusparseDestroy) destroy = find("cusparseDestroy");
  decltype(&cusparseGetErrorString) error_string = find("cusparseGetErrorString");
  decltype(&cusparseSetStream) set_stream = find("cusparseSetStream");
  decltype(&cusparseCreateCsr) create_csr = find("cusparseCreateCsr");
  decltype(&cusparseCreateCoo) create_coo = find("cusparseCreateCoo");
  decltype(&cusparseCreateSlicedEll) create_sliced_ell = find("cusparseCreateSlicedEll");
  decltype(&cusparseDestroySpMat) destroy_matrix = find("cusparseDestroySpMat");
  decltype(&cusparseCreateDnVec) create_vector = find("cusparseCreateDnVec");
  decltype(&cusparseDestroyDnVec) destroy_vector = find("cusparseDestroyDnVec");
  decltype(&cusparseDnVecSetValues) set_values = find("cusparseDnVecSetValues");
  decltype(&cusparseSpMV_bufferSize) buffer_size = find("cusparseSpMV_bufferSize");
  decltype(&cusparseSpMV_preprocess) preprocess = find("cusparseSpMV_preprocess");
  decltype(&cusparseSpMV) multiply = find("cusparseSpMV");
};

const cusparse_library& cusparse() { return loaded<cusparse_library>(); }

/// Throws with the cuSPARSE call that failed and its message: `unsupported` where cuSPARSE says that it does
/// not support what it was asked for, else `device_error`.
void require_success(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const std::string message = std::string("cuSPARSE: ") + call + ": " + cusparse().error_string(status);
  if (status == CUSPARSE_STATUS_NOT_SUPPORTED) throw unsupported(message);
  throw device_error(message);
}

// Owners of what cuSPARSE makes. When they destroy it, the library has been loaded.
struct destroy_cusparse {
  void operator()(cusparseHandle_t made) const noexcept { cusparse().destroy(made); }
  void operator()(cusparseSpMatDescr_t made) const noexcept { cusparse().destroy_matrix(made); }
  void operator()(cusparseDnVecDescr_t made) const noexcept { cusparse().destroy_vector(made); }
};
template <class Pointer>
using cusparse_owner = std::unique_ptr<std::remove_pointer_t<Pointer>, destroy_cusparse>;
using cusparse_handle = cusparse_owner<cusparseHandle_t>;
using cusparse_matrix = cusparse_owner<cusparseSpMatDescr_t>;
using cusparse_vector = cusparse_owner<cusparseDnVecDescr_t>;

template <class V> constexpr cudaDataType value_type = sizeof(V) == sizeof(float) ? CUDA_R_32F : CUDA_R_64F;
template <class I>
constexpr cusparseIndexType_t index_type = sizeof(I) == sizeof(std::int32_t) ? CUSPARSE_INDEX_32I
                                                                             : CUSPARSE_INDEX_64I;

constexpr offset most_in_32_bits = std::numeric_limits<std::int32_t>::max();

/// cuSPARSE's descriptors take pointers to what they only read as pointers to what they may write.
template <class Values> void* writable(const Values& values) {
  return const_cast<std::remove_const_t<typename Values::value_type>*>(values.data());
}

// CSR, COO and sliced ELL as cuSPARSE takes them: each is made from (queue, source, options), as the matrix
// of a kernel of ours is (prepared_on_gpu.cuh).

template <class V> struct limited_coo : gpu::device_coo<V> {
  limited_coo(cuda_queue& queue, csr_view<V> a, const prepare_options& options)
      : gpu::device_coo<V>(queue, require_narrow(a), options) {}

 private:
  static csr_view<V> require_narrow(csr_view<V> a) {
    if (a.nnz() <= most_in_32_bits) return a;
    throw unsupported("cuSPARSE's coo takes at most " + std::to_string(most_in_32_bits) +
                      " entries with 32-bit rows and columns, and this matrix has " +
                      std::to_string(a.nnz()));
  }
};

template <class V> struct device_sliced_ell {
  // Of the two, one is empty: offsets take 64 bits where they are asked for, or where padding needs them.
  vector<std::int32_t> slice_begin;
  vector<offset> wide_slice_begin;
  vector<index> col;
  vector<V> val;
  index rows, cols;
  offset nnz;
  std::uint64_t padding_bytes;

  device_sliced_ell(cuda_queue&, csr_view<V> a, const prepare_options& options)
      : device_sliced_ell(to_sliced_ell(a, options.budget), options) {}
  bool is_wide() const { return wide_slice_begin.size() > 0; }
  footprint storage() const {
    return {slice_begin.bytes() + wide_slice_begin.bytes() + col.bytes() + val.bytes(), padding_bytes};
  }

 private:
  device_sliced_ell(const sliced_ell<V>& a, const prepare_options& options)
      : col(gpu::place(options.on, a.col)),
        val(gpu::place(options.on, a.val)),
        rows(a.rows),
        cols(a.cols),
        nnz(a.nnz),
        padding_bytes(a.size().padding_bytes) {
    if (options.wide_offsets || a.slice_begin.back() > most_in_32_bits)
      wide_slice_begin = gpu::place(options.on, a.slice_begin);
    else
      slice_begin = gpu::place_offsets<std::int32_t>(options.on, a.slice_begin);
  }
};

template <class V, class Offset> cusparse_matrix describe(const gpu::shared_csr<V, Offset>& a) {
  cusparseSpMatDescr_t made = nullptr;
  require_success(cusparse().create_csr(&made, a.rows, a.cols, a.nnz(), writable(a.row_begin),
                                        writable(a.col), writable(a.val), index_type<Offset>,
                                        index_type<index>, CUSPARSE_INDEX_BASE_ZERO, value_type<V>),
                  "cusparseCreateCsr");
  return cusparse_matrix(made);
}

template <class V> cusparse_matrix describe(const gpu::device_coo<V>& a) {
  cusparseSpMatDescr_t made = nullptr;
  require_success(
      cusparse().create_coo(&made, a.rows, a.cols, a.nnz(), writable(a.row), writable(a.col), writable(a.val),
                            index_type<index>, CUSPARSE_INDEX_BASE_ZERO, value_type<V>),
      "cusparseCreateCoo");
  return cusparse_matrix(made);
}

template <class V> cusparse_matrix describe(const device_sliced_ell<V>& a) {
  cusparseSpMatDescr_t made = nullptr;
  require_success(
      cusparse().create_sliced_ell(
          &made, a.rows, a.cols, a.nnz, static_cast<std::int64_t>(a.val.size()),
          sliced_ell<V>::rows_per_slice, a.is_wide() ? writable(a.wide_slice_begin) : writable(a.slice_begin),
          writable(a.col), writable(a.val), a.is_wide() ? index_type<offset> : index_type<std::int32_t>,
          index_type<index>, CUSPARSE_INDEX_BASE_ZERO, value_type<V>),
      "cusparseCreateSlicedEll");
  return cusparse_matrix(made);
}

template <class V> cusparse_vector describe(V* values, index size) {
  cusparseDnVecDescr_t made = nullptr;
  require_success(cusparse().create_vector(&made, size, values, value_type<V>), "cusparseCreateDnVec");
  return cusparse_vector(made);
}

/// A matrix as cuSPARSE multiplies it. Held: one of the above. A matrix without entries is multiplied here,
/// as cuSPARSE does not document empty arrays.
///
/// Thread safety: multiplies that run at once have descriptors and work space of their own, as those of our
/// kernels have a scratch set; they share the handle, one after the other.
template <class V, class Held> class described_matrix {
 public:
  template <class Source>
  described_matrix(cuda_queue& queue, const Source& source, const prepare_options& options,
                   cusparseSpMVAlg_t algorithm)
      : held_(queue, source, options), algorithm_(algorithm) {
    const cusparse_library& library = cusparse();
    if (held_.val.size() == 0) return;
    cusparseHandle_t made = nullptr;
    require_success(library.create(&made), "cusparseCreate");
    handle_.reset(made);
    options.on->synchronize({});  // what describes the matrix is made in another stream
    constexpr int sets = 2;       // for a stream and a graph
    sets_ = std::make_unique<cuda_scratch>(
        options.on, work_space(options.on), sets,
        [this, on = options.on.get()](std::byte* buffer) { return prepare(*on, buffer); });
  }
  footprint storage() const {
    const footprint size = held_.storage();
    return {size.bytes + (sets_ ? sets_->bytes() : 0), size.padding_bytes};
  }

  void multiply(cuda_queue& queue, const V* x, V* y, const scale_and_add<V>& finish) const {
    if (!handle_)
      return gpu::launch_threads(queue, "scale", held_.rows, gpu::scale_kernel<V>, held_.rows, finish.beta,
                                 y);
    const cusparse_library& library = cusparse();
    const auto set = sets_->lend({queue.native_stream()});
    const auto& own = *static_cast<const descriptors*>(set.attached());
    const std::lock_guard lock(handle_mutex_);
    require_success(library.set_stream(handle_.get(), queue.native_stream()), "cusparseSetStream");
    require_success(library.set_values(own.x.get(), const_cast<V*>(x)), "cusparseDnVecSetValues");
    require_success(library.set_values(own.y.get(), y), "cusparseDnVecSetValues");
    require_success(library.multiply(handle_.get(), operation, &finish.alpha, own.matrix.get(), own.x.get(),
                                     &finish.beta, own.y.get(), value_type<V>, algorithm_, set.data()),
                    "cusparseSpMV");
  }

 private:
  static constexpr cusparseOperation_t operation = CUSPARSE_OPERATION_NON_TRANSPOSE;

  struct descriptors {
    cusparse_matrix matrix;
    cusparse_vector x, y;

    descriptors(const Held& held, V* for_x, V* for_y)
        : matrix(describe(held)), x(describe(for_x, held.cols)), y(describe(for_y, held.rows)) {}
  };

  /// The bytes of a buffer. Never 0: cuSPARSE could take a null pointer for a missing buffer.
  std::size_t work_space(const std::shared_ptr<device>& on) const {
    vector<V> x(on, static_cast<std::size_t>(held_.cols)), y(on, static_cast<std::size_t>(held_.rows));
    const descriptors some(held_, x.data(), y.data());
    const V one = 1, zero = 0;
    std::size_t bytes = 0;
    require_success(cusparse().buffer_size(handle_.get(), operation, &one, some.matrix.get(), some.x.get(),
                                           &zero, some.y.get(), value_type<V>, algorithm_, &bytes),
                    "cusparseSpMV_bufferSize");
    return std::max<std::size_t>(bytes, 1);
  }

  /// Descriptors for multiplies with a buffer. They need vectors now; each multiply replaces them by its own.
  std::shared_ptr<void> prepare(device& on, std::byte* buffer) const {
    auto& gpu = static_cast<cuda_gpu&>(on);
    const cudaStream_t in = gpu.own_stream();
    cuda_temporary<V> x(gpu, in, static_cast<std::size_t>(held_.cols)),
        y(gpu, in, static_cast<std::size_t>(held_.rows));
    auto made = std::make_shared<descriptors>(held_, x.data(), y.data());
    const V one = 1, zero = 0;
    const std::lock_guard lock(handle_mutex_);
    require_success(cusparse().set_stream(handle_.get(), in), "cusparseSetStream");
    if (is_worth_preprocessing())
      require_success(cusparse().preprocess(handle_.get(), operation, &one, made->matrix.get(), made->x.get(),
                                            &zero, made->y.get(), value_type<V>, algorithm_, buffer),
                      "cusparseSpMV_preprocess");
    on.synchronize({in});
    return made;
  }

  /// Only the algorithms for CSR preprocess.
  bool is_worth_preprocessing() const {
    return algorithm_ == CUSPARSE_SPMV_ALG_DEFAULT || algorithm_ == CUSPARSE_SPMV_CSR_ALG1 ||
           algorithm_ == CUSPARSE_SPMV_CSR_ALG2;
  }

  // In this order, so that descriptors are destroyed before the arrays that they describe.
  Held held_;
  cusparseSpMVAlg_t algorithm_;
  cusparse_handle handle_;  // none for a matrix without entries
  mutable std::mutex handle_mutex_;
  std::unique_ptr<cuda_scratch> sets_;
};

/// The kernel of an algorithm, as prepared_on_gpu.cuh wants it. Held<V, Offset>: the matrix that it takes.
template <template <class, class> class Held, cusparseSpMVAlg_t Algorithm> struct cusparse_launch {
  /// The table below sets the texts.
  static constexpr kernel_row row{.name = "", .format = "", .summary = "", .is_peer = true};

  template <class A, class V, class Offset> struct matrix : described_matrix<V, Held<V, Offset>> {
    template <class Source>
    requires std::is_constructible_v<Held<V, Offset>, cuda_queue&, const Source&, const prepare_options&>
    matrix(cuda_queue& queue, const Source& source, const prepare_options& options)
        : described_matrix<V, Held<V, Offset>>(queue, source, options, Algorithm) {}
  };

  template <class Matrix, class V>
  static void multiply(cuda_queue& queue, const Matrix& a, const V* x, V* y, scale_and_add<V> finish) {
    a.multiply(queue, x, y, finish);
  }
};

template <class V, class Offset> using held_as_coo = limited_coo<V>;
template <class V, class Offset> using held_as_sliced_ell = device_sliced_ell<V>;

template <template <class, class> class Held, cusparseSpMVAlg_t Algorithm>
kernel_row row(std::string_view name, std::string_view format, bool is_repeatable, std::string_view summary) {
  kernel_row out = gpu::make_row<cusparse_launch<Held, Algorithm>, cuda_queue>();
  out.name = name;
  out.format = format;
  out.summary = summary;
  out.is_repeatable = is_repeatable;
  return out;
}

}  // namespace

std::span<const kernel_row> cusparse_kernels() {
  static const kernel_row rows[] = {
      row<gpu::shared_csr, CUSPARSE_SPMV_ALG_DEFAULT>("cusparse_csr", "csr", false,
                                                      "cuSPARSE's default, preprocessed"),
      row<gpu::shared_csr, CUSPARSE_SPMV_CSR_ALG1>("cusparse_csr_alg1", "csr", false,
                                                   "cuSPARSE's CSR_ALG1, preprocessed"),
      row<gpu::shared_csr, CUSPARSE_SPMV_CSR_ALG2>("cusparse_csr_alg2", "csr", true,
                                                   "cuSPARSE's CSR_ALG2, preprocessed"),
      row<held_as_coo, CUSPARSE_SPMV_COO_ALG1>("cusparse_coo", "coo", false, "cuSPARSE's COO_ALG1"),
      row<held_as_coo, CUSPARSE_SPMV_COO_ALG2>("cusparse_coo_alg2", "coo", true, "cuSPARSE's COO_ALG2"),
      row<held_as_sliced_ell, CUSPARSE_SPMV_SELL_ALG1>("cusparse_sell", "sell", true,
                                                       "cuSPARSE's sliced ELL, 32 rows to a slice"),
  };
  return rows;
}

}  // namespace nz
