"""Makes the .npz files in valid/ (by SciPy) and invalid/ (by hand, one failure each), and the fuzz targets' seeds.

Run with a Python that has SciPy: python tests/data/make_npz_fixtures.py
"""

import io
import pathlib
import struct
import zipfile

import numpy as np
import scipy.sparse as sp

here = pathlib.Path(__file__).parent
dense = np.array([[3, 0, 1, 0], [0, 0, 0, 0], [0, 2, 4, 1], [1, 0, 0, 1.5]])
csr = sp.csr_matrix(dense)


def valid(name, matrix, compressed=False):
    sp.save_npz(here / "valid" / f"{name}.npz", matrix, compressed=compressed)


def raw_csr(data, indices, indptr, shape):
    """A csr_matrix that SciPy does not tidy: unsorted, or with duplicates."""
    matrix = sp.csr_matrix(shape, dtype=np.asarray(data).dtype)
    matrix.data, matrix.indices, matrix.indptr = map(np.asarray, (data, indices, indptr))
    return matrix


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), version=version)
    return out.getvalue()


def header(text, data=b"", version=1):
    text = text.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def members(**changes):
    """The members of a good csr file, with some replaced (bytes or array), or left out (None)."""
    all = {
        "indices": csr.indices, "indptr": csr.indptr, "format": np.array(b"csr"),
        "shape": np.array(csr.shape), "data": csr.data, **changes,
    }
    return [(k + ".npy", v if isinstance(v, bytes) else npy(v)) for k, v in all.items() if v is not None]


def pack(folder, name, parts, method=zipfile.ZIP_STORED):
    path = here / folder / f"{name}.npz"
    with zipfile.ZipFile(path, "w", method) as out:
        for member, data in parts:
            out.writestr(zipfile.ZipInfo(member), data, method)
    return path


def invalid(name, **changes):
    return pack("invalid", name, members(**changes))


def make_valid():
    valid("csr", csr)
    valid("csr_compressed", csr, compressed=True)
    valid("csr_array", sp.csr_array(dense))
    valid("csc", csr.tocsc())
    valid("csc_compressed", csr.tocsc(), compressed=True)
    valid("coo", csr.tocoo())
    valid("csr_float32", csr.astype(np.float32))
    valid("csr_bool", csr.astype(bool))
    for kind in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
        valid(f"csr_{kind}", (csr * 2).astype(kind))
    valid("csr_int64_indices", raw_csr(csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64), (4, 4)))
    valid("csr_int64_indptr_only", raw_csr(csr.data, csr.indices, csr.indptr.astype(np.int64), (4, 4)))
    coo = csr.tocoo()
    coo.coords = tuple(c.astype(np.int64) for c in coo.coords)
    valid("coo_int64_indices", coo)
    valid("csr_unsorted", raw_csr([1.0, 3, 1, 4, 2, 1.5, 1], [2, 0, 3, 2, 1, 3, 0], csr.indptr, (4, 4)))
    # 1e16 + 1 + 1 is 1e16 in stored order; any other order gives 1e16 + 2.
    valid("csr_duplicates", raw_csr([1e16, 1.0, 1.0], [0, 0, 0], [0, 3], (1, 1)))
    valid("coo_duplicates", sp.coo_matrix(([1e16, 5, 1.0, 1.0], ([0, 1, 0, 0], [1, 0, 1, 1])), shape=(2, 2)))
    valid("csr_empty", sp.csr_matrix((0, 0)))
    valid("csc_no_entries", sp.csc_matrix((5, 3)))
    valid("coo_no_entries", sp.coo_matrix((3, 5)))
    pack("valid", "csr_reversed_members", reversed(members()))
    pack("valid", "csr_extra_members", [("readme.txt", b"hello"), *members(), ("x.npy", b"junk")])
    pack("valid", "csr_npy_version_2_3", members(data=npy(csr.data, (2, 0)), indices=npy(csr.indices, (3, 0))))
    pack("valid", "csr_unicode_format", members(format=np.array("csr")))
    pack("valid", "csr_unsigned_indices",
         members(indices=csr.indices.astype(np.uint32), indptr=csr.indptr.astype(np.uint64)))
    pack("valid", "csr_int32_shape", members(shape=np.array([4, 4], np.int32)))


def make_invalid_members():
    for missing in ("indices", "indptr", "format", "shape", "data"):
        invalid(f"missing_{missing}", **{missing: None})
    pack("invalid", "missing_row", members(format=np.array(b"coo"), col=csr.indices))
    pack("invalid", "missing_col", members(format=np.array(b"coo"), row=csr.indices))
    pack("invalid", "duplicate_member", members() + members()[-1:])
    pack("invalid", "no_members", [])
    invalid("format_bsr", format=np.array(b"bsr"))
    invalid("format_dia", format=np.array(b"dia"))
    invalid("format_unknown", format=np.array(b"xyz"))
    invalid("format_is_a_number", format=np.array(3.0))
    invalid("format_not_ascii", format=np.array("cs\u0159"))
    pack("invalid", "format_huge", members(format=np.array(b"c" * 2_000_000)), zipfile.ZIP_DEFLATED)
    sp.save_npz(here / "invalid" / "bsr_by_scipy.npz", sp.bsr_matrix(dense, blocksize=(2, 2)))
    sp.save_npz(here / "invalid" / "dia_by_scipy.npz", sp.dia_matrix(dense))


def make_invalid_shapes():
    invalid("shape_negative", shape=np.array([-4, 4]))
    invalid("shape_past_2_31", shape=np.array([4, 2**31]))
    invalid("shape_of_one", shape=np.array([4]))
    invalid("shape_of_three", shape=np.array([4, 4, 4]))
    invalid("shape_of_floats", shape=np.array([4.0, 4.0]))
    invalid("shape_past_int64", shape=np.array([2**63, 4], np.uint64))
    invalid("shape_two_dimensional", shape=np.array([[4, 4]]))
    pack("invalid", "shape_huge", members(shape=np.zeros(1_000_000, np.int64)), zipfile.ZIP_DEFLATED)
    coo = dict(format=np.array(b"coo"), row=np.array([0]), col=np.array([0]), data=np.array([1.0]),
               indices=None, indptr=None)
    invalid("coo_hypersparse", **{**coo, "shape": np.array([2**31 - 1, 1])})
    invalid("coo_row_too_large", **{**coo, "shape": np.array([4, 4]), "row": np.array([4])})
    invalid("coo_row_negative", **{**coo, "shape": np.array([4, 4]), "row": np.array([-1])})
    invalid("coo_col_too_large", **{**coo, "shape": np.array([4, 4]), "col": np.array([4])})
    invalid("coo_lengths_differ", **{**coo, "shape": np.array([4, 4]), "col": np.array([0, 1])})


def make_invalid_indices():
    indptr, indices = csr.indptr, csr.indices
    invalid("indptr_too_short", indptr=indptr[:-1])
    invalid("indptr_too_long", indptr=np.append(indptr, indptr[-1]))
    invalid("indptr_empty", indptr=indptr[:0])
    invalid("indptr_not_from_zero", indptr=np.array([1, 2, 2, 5, 7]))
    invalid("indptr_falls", indptr=np.array([0, 5, 2, 5, 7]))
    invalid("indptr_negative", indptr=np.array([0, -2, 2, 5, 7]))
    invalid("indptr_ends_early", indptr=np.array([0, 2, 2, 5, 6]))
    invalid("indptr_ends_late", indptr=np.array([0, 2, 2, 5, 8]))
    invalid("indptr_of_floats", indptr=indptr.astype(float))
    invalid("indptr_past_int64", indptr=np.array([0, 2, 2, 5, 2**64 - 1], np.uint64))
    invalid("column_negative", indices=np.array([0, 2, 1, 2, 3, -1, 3]))
    invalid("column_too_large", indices=np.array([0, 2, 1, 4, 3, 0, 3]))
    invalid("column_past_2_31", indices=np.array([0, 2, 1, 2**32 + 2, 3, 0, 3]))
    invalid("column_unsigned_past_2_31", indices=np.array([0, 2, 1, 2**31, 3, 0, 3], np.uint32))
    invalid("indices_too_short", indices=indices[:-1])
    invalid("data_too_short", data=csr.data[:-1])
    invalid("data_too_long", data=np.append(csr.data, 1))
    invalid("csc_row_too_large", format=np.array(b"csc"), shape=np.array([3, 4]))


def make_invalid_arrays():
    good = npy(csr.data)
    invalid("data_complex", data=csr.data.astype(complex))
    invalid("data_big_endian", data=csr.data.astype(">f8"))
    invalid("data_half", data=csr.data.astype(np.float16))
    invalid("data_text", data=np.array(["a"] * 7))
    invalid("data_two_dimensional", data=csr.data.reshape(7, 1))
    invalid("data_structured", data=np.zeros(7, [("a", "<f8")]))
    invalid("data_object", data=header("{'descr': '|O', 'fortran_order': False, 'shape': (7,), }\n", bytes(56)))
    invalid("data_truncated", data=good[:-1])
    invalid("data_goes_on", data=good + b"\0")
    invalid("data_empty_member", data=b"")
    invalid("data_junk", data=bytes(range(256)))
    invalid("npy_magic_only", data=b"\x93NUMPY")
    invalid("npy_version_9", data=good[:6] + b"\x09" + good[7:])
    invalid("npy_header_truncated", data=good[:40])
    invalid("npy_header_of_4_gb", data=b"\x93NUMPY\x02\0\xff\xff\xff\xff" + bytes(100))
    form = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}\n"
    for name, descr, shape in [
        ("count_10_18", "<f8", "(1000000000000000000,)"), ("count_2_64", "<f8", "(18446744073709551616,)"),
        ("count_near_2_64", "<f8", "(18446744073709551615,)"), ("count_negative", "<f8", "(-7,)"),
        ("type_empty", "", "(7,)"), ("type_junk", "<", "(7,)"), ("type_zero_bytes", "<f0", "(7,)"),
        ("type_huge", "<f99999999999999999999", "(7,)"), ("shape_unclosed", "<f8", "(7"),
    ]:
        invalid(f"npy_{name}", data=header(form.format(descr, shape), csr.data.tobytes()))
    for name, text in [
        ("empty", ""), ("no_shape", "{'descr': '<f8', }"), ("no_descr", "{'shape': (7,), }"),
        ("unknown_key", "{'descr': '<f8', 'shape': (7,), 'x': True}"), ("unclosed", "{'descr': '<f8"),
        ("trailing", "{'descr': '<f8', 'shape': (7,)} x"), ("not_a_dict", "import os"),
    ]:
        invalid(f"npy_header_{name}", data=header(text, csr.data.tobytes()))


def make_invalid_zips():
    def write(name, data):
        (here / "invalid" / f"{name}.npz").write_bytes(data)

    good = pack("invalid", "zip_truncated", members()).read_bytes()
    write("zip_truncated", good[: len(good) // 2])
    write("zip_without_directory", good[: good.index(b"PK\1\2") - 30])
    write("zip_bad_checksum", good.replace(struct.pack("<d", 1.5), struct.pack("<d", 2.5)))
    at = good.index(b"PK\1\2")
    write("zip_damaged_directory", good[: at + 10] + b"\xff" * 30 + good[at + 40 :])
    packed = pack("invalid", "zip_damaged_deflate", members(data=np.arange(7.0)), zipfile.ZIP_DEFLATED).read_bytes()
    middle = packed.index(b"indptr.npy") + 40
    write("zip_damaged_deflate", packed[:middle] + b"\xff" * 8 + packed[middle + 8 :])
    write("not_a_zip", b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
    write("empty_file", b"")
    write("only_a_zip_signature", b"PK\3\4")


def make_fuzz_corpus():
    """Valid files and some invalid ones whole, and unpacked as fuzz/npz_members.cpp wants them."""
    corpus = here.parent.parent / "fuzz" / "corpus"
    names = "indices indptr format shape data row col _is_array".split()
    chosen = [here / "valid" / f"{n}.npz" for n in (
        "csr csc coo csr_compressed coo_duplicates csr_unsorted csr_bool csr_float32 csr_int64_indices csr_int8 "
        "csr_uint64 csr_npy_version_2_3 csr_unicode_format csr_empty coo_no_entries").split()]
    chosen += [here / "invalid" / f"{n}.npz" for n in (
        "data_truncated npy_count_10_18 indptr_falls coo_hypersparse data_two_dimensional column_past_2_31").split()]
    for folder in ("npz", "npz_members"):
        (corpus / folder).mkdir(parents=True, exist_ok=True)
    for path in chosen:
        (corpus / "npz" / path.name).write_bytes(path.read_bytes())
        with zipfile.ZipFile(path) as source:
            parts = [(names.index(m.removesuffix(".npy")), source.read(m)) for m in source.namelist()]
        packed = b"".join(struct.pack("<BH", name, len(data)) + data for name, data in parts)
        (corpus / "npz_members" / path.stem).write_bytes(packed)


for folder in ("valid", "invalid"):
    (here / folder).mkdir(exist_ok=True)
    for old in (here / folder).glob("*.npz"):
        old.unlink()
make_valid()
make_invalid_members()
make_invalid_shapes()
make_invalid_indices()
make_invalid_arrays()
make_invalid_zips()
make_fuzz_corpus()
