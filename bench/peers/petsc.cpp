// PETSc's MatMult, one MPI rank in place of each thread, each with a range of rows of about equally many
// entries. Started by itself, the program starts its ranks; rank 0 then talks to nz, and the others do as it
// does.
//   petsc aij|sell
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <petscmat.h>
#include <sys/prctl.h>

#include "protocol.hpp"

namespace {

void require(PetscErrorCode code) {
  if (code != 0) throw std::runtime_error("PETSc fails with " + std::to_string(code));
}

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return rank;
}

int ranks() {
  int size = 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}

/// The part of a matrix that this rank holds. All ranks make, use and destroy it together.
class local_rows {
 public:
  local_rows(const peers::matrix_file& file, const std::string& type) {
    first_ = first_row(file, rank_of_this()), last_ = first_row(file, rank_of_this() + 1);
    const PetscInt mine = last_ - first_;
    const std::int64_t begin = file.row_begin[first_], count = file.row_begin[last_] - begin;
    peers::own_array<PetscInt> row_begin(mine + 1), col(file.col + begin, count);
    for (PetscInt i = 0; i <= mine; ++i)
      row_begin[i] = static_cast<PetscInt>(file.row_begin[first_ + i] - begin);
    const peers::own_array<PetscScalar> val(file.val<double>() + begin, count);

    MPI_Barrier(PETSC_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    // x is spread as y is where the matrix is square.
    const PetscInt my_cols = file.rows == file.cols ? mine : PETSC_DECIDE;
    require(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, mine, my_cols, static_cast<PetscInt>(file.rows),
                                      static_cast<PetscInt>(file.cols), row_begin.data(), col.data(),
                                      val.data(), &a_));
    if (type == "sell") {
      std::swap(a_, source_);
      require(MatConvert(source_, MATSELL, MAT_INITIAL_MATRIX, &a_));
    }
    MPI_Barrier(PETSC_COMM_WORLD);
    seconds = peers::seconds_since(start);

    // PETSc 3.18 does not set up the layout of what it converted to sell.
    require(MatCreateVecs(source_ == nullptr ? a_ : source_, &x_, &y_));
    MatDestroy(&source_);
    PetscInt x_begin = 0, x_end = 0;
    require(VecGetOwnershipRange(x_, &x_begin, &x_end));
    PetscScalar* x = nullptr;
    require(VecGetArray(x_, &x));
    std::copy_n(file.x<double>() + x_begin, x_end - x_begin, x);
    require(VecRestoreArray(x_, &x));
  }
  ~local_rows() {
    MatDestroy(&a_);
    MatDestroy(&source_);
    VecDestroy(&x_);
    VecDestroy(&y_);
  }
  local_rows(const local_rows&) = delete;
  local_rows& operator=(const local_rows&) = delete;

  double time(int calls) {
    for (int i = 0; i < peers::warm_up_calls(calls); ++i) require(MatMult(a_, x_, y_));
    MPI_Barrier(PETSC_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) require(MatMult(a_, x_, y_));
    MPI_Barrier(PETSC_COMM_WORLD);
    return peers::seconds_since(start);
  }

  void write_result(const std::string& path) {
    const peers::mapped_file out(path, true);
    require(MatMult(a_, x_, y_));
    const PetscScalar* y = nullptr;
    require(VecGetArrayRead(y_, &y));
    if (last_ > first_) std::copy_n(y, last_ - first_, reinterpret_cast<double*>(out.data()) + first_);
    require(VecRestoreArrayRead(y_, &y));
    MPI_Barrier(PETSC_COMM_WORLD);
  }

  double seconds = 0;

 private:
  static PetscInt first_row(const peers::matrix_file& file, int rank) {
    if (rank == ranks()) return static_cast<PetscInt>(file.rows);
    const std::int64_t* const begin = file.row_begin;
    return static_cast<PetscInt>(
        rank == 0 ? 0 : std::lower_bound(begin, begin + file.rows, file.nnz * rank / ranks()) - begin);
  }

  PetscInt first_ = 0, last_ = 0;
  Mat a_ = nullptr;
  Mat source_ = nullptr;  // what a_ was converted from, until it is no longer needed
  Vec x_ = nullptr, y_ = nullptr;
};

/// What rank 0 tells the others to do along with it.
struct order {
  char what = 'q';  // m: make, r: result, t: time, d: destroy, q: quit
  int calls = 0;
  char path[256] = {};
};

void send_to_all(const order& what) {
  for (int rank = 1; rank < ranks(); ++rank)
    MPI_Send(&what, sizeof what, MPI_BYTE, rank, 0, PETSC_COMM_WORLD);
}

/// Without MPI's own waiting, which keeps the processor busy while others are timed on it.
order wait_for_order() {
  order out;
  for (int is_there = 0; is_there == 0;) {
    MPI_Iprobe(0, 0, PETSC_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    if (is_there == 0) usleep(500);
  }
  MPI_Recv(&out, sizeof out, MPI_BYTE, 0, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE);
  return out;
}

/// What every rank does for an order.
double obey(const order& what, const std::string& type, std::unique_ptr<local_rows>& mine) {
  switch (what.what) {
    case 'm':
      mine = std::make_unique<local_rows>(peers::matrix_file(what.path), type);
      return mine->seconds;
    case 'r':
      mine->write_result(what.path);
      return 0;
    case 't':
      return mine->time(what.calls);
    default:
      mine.reset();
      return 0;
  }
}

class with_petsc final : public peers::multiplier {
 public:
  with_petsc(const std::string& path, const std::string& type) : type_(type) {
    seconds = together('m', 0, path);
  }
  ~with_petsc() override { together('d', 0, ""); }
  double time(int calls) override { return together('t', calls, ""); }
  void write_result(const std::string& path) override { together('r', 0, path); }

 private:
  double together(char what, int calls, const std::string& path) {
    order now{what, calls, {}};
    if (path.size() >= sizeof now.path) throw std::runtime_error("too long a path");
    std::memcpy(now.path, path.data(), path.size());
    send_to_all(now);
    return obey(now, type_, mine_);
  }

  std::string type_;
  std::unique_ptr<local_rows> mine_;
};

void require_what_petsc_takes(const peers::matrix_file& file) {
  if (file.value_size != sizeof(PetscScalar)) throw peers::cannot("this PETSc is built for double only");
  if (sizeof(PetscInt) == 4) peers::require_short(file);
  if (!file.is_sorted()) throw peers::cannot("PETSc adds up no entries that come twice");
}

int run_rank(const std::string& type) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // with mpiexec
  PetscOptionsSetValue(nullptr, "-no_signal_handler", "true");
  if (PetscInitialize(nullptr, nullptr, nullptr, nullptr) != 0) return 1;
  PetscPushErrorHandler(PetscReturnErrorHandler, nullptr);
  int status = 0;
  if (rank_of_this() == 0) {
    const std::string version = std::to_string(PETSC_VERSION_MAJOR) + "." +
                                std::to_string(PETSC_VERSION_MINOR) + "." +
                                std::to_string(PETSC_VERSION_SUBMINOR);
    status = peers::serve("PETSc " + version, [&](const std::string& path) {
      require_what_petsc_takes(peers::matrix_file(path));
      return std::make_unique<with_petsc>(path, type);
    });
    send_to_all({});
  } else {
    std::unique_ptr<local_rows> mine;
    for (order now = wait_for_order(); now.what != 'q'; now = wait_for_order()) obey(now, type, mine);
  }
  PetscFinalize();
  return status;
}

/// Becomes mpiexec, with as many ranks of this program as there would be threads.
int start_ranks(const char* self, const char* type) {
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  const std::string count = threads == nullptr ? "1" : threads;
  setenv("OMP_NUM_THREADS", "1", 1);
  // Open MPI does neither by itself; other kinds of MPI do not look at these.
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
    setenv(name, "1", 0);
  execlp(NONZERO_MPIEXEC, NONZERO_MPIEXEC, "-n", count.c_str(), self, type, "rank", nullptr);
  std::perror(NONZERO_MPIEXEC);
  return 127;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string type = argc > 1 ? argv[1] : "";
  if (type != "aij" && type != "sell") {
    std::fputs("petsc aij|sell\n", stderr);
    return 2;
  }
  return argc > 2 ? run_rank(type) : start_ranks(argv[0], argv[1]);
}
