#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include <cusparse.h>

#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>
#include <nonzero/gpu/cuda/sliced_ell_internal.hpp>
#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/fused_epilogue.cuh>
#include <nonzero/gpu/scale.cuh>
#include <nonzero/gpu/threads.cuh>

// cuSPARSE's multiplies (https://docs.nvidia.com/cuda/cusparse/, cusparseSpMV) as rows of the table, to
// compare ours with. Which of them are bitwise repeatable is what its table of algorithms says.
namespace nz {
namespace {

/// The functions of cuSPARSE that the peers call. They are looked up when first needed, in its shared
/// library: whoever never compares with it needs not have it.
struct cusparse_library {
  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseGetErrorString) error_string;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseCreateCoo) create_coo;
  decltype(&cusparseCreateSlicedEll) create_sliced_ell;
  decltype(&cusparseDestroySpMat) destroy_matrix;
  decltype(&cusparseCreateDnVec) create_vector;
  decltype(&cusparseDestroyDnVec) destroy_vector;
  decltype(&cusparseDnVecSetValues) set_values;
  decltype(&cusparseSpMV_bufferSize) buffer_size;
  decltype(&cusparseSpMV_preprocess) preprocess;
  decltype(&cusparseSpMV) multiply;
};

cusparse_library load() {
  loaded_library from("cuSPARSE", "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR));
  cusparse_library all{};
  from.find("cusparseCreate", all.create);
  from.find("cusparseDestroy", all.destroy);
  from.find("cusparseGetErrorString", all.error_string);
  from.find("cusparseSetStream", all.set_stream);
  from.find("cusparseCreateCsr", all.create_csr);
  from.find("cusparseCreateCoo", all.create_coo);
  from.find("cusparseCreateSlicedEll", all.create_sliced_ell);
  from.find("cusparseDestroySpMat", all.destroy_matrix);
  from.find("cusparseCreateDnVec", all.create_vector);
  from.find("cusparseDestroyDnVec", all.destroy_vector);
  from.find("cusparseDnVecSetValues", all.set_values);
  from.find("cusparseSpMV_bufferSize", all.buffer_size);
  from.find("cusparseSpMV_preprocess", all.preprocess);
  from.find("cusparseSpMV", all.multiply);
  from.keep();
  return all;
}

/// Throws `unsupported` where the library is missing, or lacks a function.
const cusparse_library& cusparse() {
  static const cusparse_library library = load();
  return library;
}

/// Throws with the cuSPARSE call that failed and its message: `unsupported` where cuSPARSE says that it does
/// not support what it was asked for, else `device_error`.
void require_success(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const std::string message = std::string("cuSPARSE: ") + call + ": " + cusparse().error_string(status);
  if (status == CUSPARSE_STATUS_NOT_SUPPORTED) throw unsupported(message);
  throw device_error(message);
}

// What cuSPARSE makes, each with how it is destroyed. By then the library has been found.
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

/// cuSPARSE's descriptors take pointers to what they only read as pointers to what they may write.
template <class Values> void* writable(const Values& values) {
  return const_cast<std::remove_const_t<typename Values::value_type>*>(values.data());
}

template <class V, class Offset> struct device_sliced_ell {
  vector<Offset> slice_begin;
  vector<index> col;
  vector<V> val;
  index rows, cols;
  offset nnz;
  std::uint64_t padding_bytes;

  device_sliced_ell(const sliced_ell<V>& a, const prepare_options& options)
      : slice_begin(gpu::place_offsets<Offset>(options.on, a.slice_begin)),
        col(gpu::place(options.on, a.col)),
        val(gpu::place(options.on, a.val)),
        rows(a.rows),
        cols(a.cols),
        nnz(a.nnz),
        padding_bytes(a.size().padding_bytes) {}
  footprint storage() const { return {slice_begin.bytes() + col.bytes() + val.bytes(), padding_bytes}; }
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

template <class V, class Offset> cusparse_matrix describe(const device_sliced_ell<V, Offset>& a) {
  cusparseSpMatDescr_t made = nullptr;
  require_success(
      cusparse().create_sliced_ell(&made, a.rows, a.cols, a.nnz, static_cast<std::int64_t>(a.val.size()),
                                   sliced_ell<V>::rows_per_slice, writable(a.slice_begin), writable(a.col),
                                   writable(a.val), index_type<Offset>, index_type<index>,
                                   CUSPARSE_INDEX_BASE_ZERO, value_type<V>),
      "cusparseCreateSlicedEll");
  return cusparse_matrix(made);
}

template <class V> cusparse_vector describe(const vector<V>& values) {
  cusparseDnVecDescr_t made = nullptr;
  require_success(cusparse().create_vector(&made, static_cast<std::int64_t>(values.size()), writable(values),
                                           value_type<V>),
                  "cusparseCreateDnVec");
  return cusparse_vector(made);
}

/// A matrix as cuSPARSE multiplies it by an algorithm. A matrix without entries is ours to answer: cuSPARSE
/// does not say what it does with arrays of no length.
template <class V, class Placed> class prepared_by_cusparse final : public prepared_matrix<V> {
 public:
  prepared_by_cusparse(Placed a, const prepare_options& options, cusparseSpMVAlg_t algorithm)
      : prepared_matrix<V>(a.rows, a.cols, options.on),
        a_(std::move(a)),
        algorithm_(algorithm),
        number_(static_cast<const gpu_card&>(*options.on).number()),
        scratch_(options.on, gpu::blocks_for(this->rows())) {
    const cusparse_library& library = cusparse();
    if (a_.val.size() == 0) return;
    const current_device current(number_);
    cusparseHandle_t made = nullptr;
    require_success(library.create(&made), "cusparseCreate");
    handle_.reset(made);
    matrix_ = describe(a_);
    // Vectors to ask with. The descriptors get each multiply's own before they are used again.
    const vector<V> x(options.on, static_cast<std::size_t>(this->cols()));
    const vector<V> y(options.on, static_cast<std::size_t>(this->rows()));
    x_ = describe(x);
    y_ = describe(y);
    const V one = 1, zero = 0;
    std::size_t bytes = 0;
    require_success(library.buffer_size(handle_.get(), operation, &one, matrix_.get(), x_.get(), &zero,
                                        y_.get(), value_type<V>, algorithm_, &bytes),
                    "cusparseSpMV_bufferSize");
    // Never a null pointer, which cuSPARSE could take for a missing buffer.
    buffer_ = vector<std::byte>(options.on, bytes > 0 ? bytes : 1);
    if (is_worth_preprocessing())
      require_success(library.preprocess(handle_.get(), operation, &one, matrix_.get(), x_.get(), &zero,
                                         y_.get(), value_type<V>, algorithm_, buffer_.data()),
                      "cusparseSpMV_preprocess");
    options.on->synchronize({});  // before x and y go, and before another stream multiplies
  }

  footprint storage() const override {
    const footprint matrix = a_.storage();
    return {matrix.bytes + buffer_.bytes() + scratch_.bytes(), matrix.padding_bytes};
  }

 private:
  static constexpr cusparseOperation_t operation = CUSPARSE_OPERATION_NON_TRANSPOSE;

  /// Only CSR has something to find out beforehand.
  bool is_worth_preprocessing() const {
    return algorithm_ == CUSPARSE_SPMV_ALG_DEFAULT || algorithm_ == CUSPARSE_SPMV_CSR_ALG1 ||
           algorithm_ == CUSPARSE_SPMV_CSR_ALG2;
  }

  void run(V alpha, const V* x, V beta, V* y, stream in) const override {
    if (!handle_) {
      cuda_queue queue(*this->where(), in);
      return queue.launch("scale", gpu::blocks_for(this->rows()), gpu::threads_per_block,
                          gpu::scale_kernel<V>, this->rows(), beta, y);
    }
    const cusparse_library& library = cusparse();
    const current_device current(number_);
    require_success(library.set_stream(handle_.get(), static_cast<cudaStream_t>(in.handle)),
                    "cusparseSetStream");
    require_success(library.set_values(x_.get(), const_cast<V*>(x)), "cusparseDnVecSetValues");
    require_success(library.set_values(y_.get(), y), "cusparseDnVecSetValues");
    require_success(library.multiply(handle_.get(), operation, &alpha, matrix_.get(), x_.get(), &beta,
                                     y_.get(), value_type<V>, algorithm_, buffer_.data()),
                    "cusparseSpMV");
  }

  void run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const override {
    run(V{1}, x, V{0}, y, in);
    cuda_queue queue(*this->where(), in);
    gpu::step_after_multiply(queue, this->rows(), scratch_.epilogue(step, sums), y);
    scratch_.end_step(queue, step.sums(), sums);
  }

  // In the order in which they are made: what describes an array goes before the array does.
  Placed a_;
  cusparseSpMVAlg_t algorithm_;
  int number_;
  gpu::step_scratch scratch_;
  mutable vector<std::byte> buffer_;  // cuSPARSE's work space; one multiply at a time
  cusparse_handle handle_;            // none for a matrix without entries
  cusparse_matrix matrix_;
  cusparse_vector x_, y_;
};

enum class layout { csr, coo, sliced_ell };

template <class V, cusparseSpMVAlg_t Algorithm, class Placed>
std::unique_ptr<prepared_matrix<V>> by_cusparse(Placed a, const prepare_options& options) {
  return std::make_unique<prepared_by_cusparse<V, Placed>>(std::move(a), options, Algorithm);
}

constexpr offset most_in_32_bits = std::numeric_limits<std::int32_t>::max();

template <class V, cusparseSpMVAlg_t Algorithm>
std::unique_ptr<prepared_matrix<V>> prepare_coo(csr_view<V> a, const prepare_options& options) {
  if (a.nnz() > most_in_32_bits)
    throw unsupported("cuSPARSE's coo takes at most " + std::to_string(most_in_32_bits) +
                      " entries with 32-bit rows and columns, and this matrix has " +
                      std::to_string(a.nnz()));
  return by_cusparse<V, Algorithm>(gpu::device_coo<V>(to_coo(a), options), options);
}

template <class V, cusparseSpMVAlg_t Algorithm>
std::unique_ptr<prepared_matrix<V>> prepare_sliced_ell(csr_view<V> a, const prepare_options& options) {
  const sliced_ell<V> sliced = to_sliced_ell(a, options.budget);
  if (options.wide_offsets || sliced.slice_begin.back() > most_in_32_bits)
    return by_cusparse<V, Algorithm>(device_sliced_ell<V, offset>(sliced, options), options);
  return by_cusparse<V, Algorithm>(device_sliced_ell<V, std::int32_t>(sliced, options), options);
}

template <class V, cusparseSpMVAlg_t Algorithm>
std::unique_ptr<prepared_matrix<V>> prepare_csr(const std::shared_ptr<const device_csr<V>>& a,
                                                const prepare_options& options) {
  if (a->is_wide()) return by_cusparse<V, Algorithm>(gpu::shared_csr<V, offset>(a), options);
  return by_cusparse<V, Algorithm>(gpu::shared_csr<V, std::int32_t>(a), options);
}

template <class V, layout Layout, cusparseSpMVAlg_t Algorithm>
std::unique_ptr<prepared_matrix<V>> prepare(csr_view<V> a, const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_for(cuda_queue::kind, asked, cuda_queue::default_device);
  if constexpr (Layout == layout::csr)
    return prepare_csr<V, Algorithm>(place_csr(a, options.on, options.wide_offsets), options);
  else if constexpr (Layout == layout::coo)
    return prepare_coo<V, Algorithm>(a, options);
  else
    return prepare_sliced_ell<V, Algorithm>(a, options);
}

/// CSR is taken as it is; the other layouts are made on the host.
template <class V, layout Layout, cusparseSpMVAlg_t Algorithm>
std::unique_ptr<prepared_matrix<V>> prepare_placed(const std::shared_ptr<const device_csr<V>>& a,
                                                   const prepare_options& asked) {
  prepare_options options = asked;
  options.on = device_of(*a, cuda_queue::kind, asked);
  if constexpr (Layout == layout::csr)
    return prepare_csr<V, Algorithm>(a, options);
  else
    return prepare<V, Layout, Algorithm>(to_host(*a), options);
}

template <layout Layout, cusparseSpMVAlg_t Algorithm>
constexpr kernel_row row(std::string_view name, bool is_repeatable, std::string_view summary) {
  kernel_row out{.name = name,
                 .format = Layout == layout::coo
                               ? "coo"
                               : "csr",  // sliced ELL is made from it, and is no format of ours
                 .summary = summary,
                 .runs_on = device_kind::cuda,
                 .is_repeatable = is_repeatable,
                 .is_peer = true};
#define NONZERO_PREPARE(V)                                                               \
  static_cast<prepare_functions<V, V>&>(out.functions) = {prepare<V, Layout, Algorithm>, \
                                                          prepare_placed<V, Layout, Algorithm>};
  NONZERO_FOR_EACH_VALUE(NONZERO_PREPARE)
#undef NONZERO_PREPARE
  return out;
}

constexpr kernel_row rows[] = {
    row<layout::csr, CUSPARSE_SPMV_ALG_DEFAULT>("cusparse_csr", false, "cuSPARSE's default, preprocessed"),
    row<layout::csr, CUSPARSE_SPMV_CSR_ALG1>("cusparse_csr_alg1", false, "cuSPARSE's CSR_ALG1, preprocessed"),
    row<layout::csr, CUSPARSE_SPMV_CSR_ALG2>("cusparse_csr_alg2", true, "cuSPARSE's CSR_ALG2, preprocessed"),
    row<layout::coo, CUSPARSE_SPMV_COO_ALG1>("cusparse_coo", false, "cuSPARSE's COO_ALG1"),
    row<layout::coo, CUSPARSE_SPMV_COO_ALG2>("cusparse_coo_alg2", true, "cuSPARSE's COO_ALG2"),
    row<layout::sliced_ell, CUSPARSE_SPMV_SELL_ALG1>("cusparse_sell", true,
                                                     "cuSPARSE's sliced ELL, 32 rows to a slice"),
};

}  // namespace

std::span<const kernel_row> cusparse_kernels() { return rows; }

}  // namespace nz
