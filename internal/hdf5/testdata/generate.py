"""Makes the files in this folder and expected.json, what they hold, with h5py.

Written with h5py 3.14.0, HDF5 1.14.6, NumPy 2.4.6, Python 3.11. Run in this folder: python generate.py
All numbers follow a formula (ramp), so there is no seed.
"""

import gzip
import json
import os

import h5py
import numpy as np

EXPECTED = {}


def ramp(shape, dtype):
    n = int(np.prod(shape))
    values = np.arange(n, dtype=np.float64) % 251 - 100
    if np.dtype(dtype).kind == "u":
        values = np.abs(values)
    if np.dtype(dtype).kind == "f":
        values = values / 8
    return values.reshape(shape).astype(dtype)


def plain(value):
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.ravel()]
    if isinstance(value, (bytes, np.bytes_)):
        return bytes(value).decode("utf-8")
    if isinstance(value, (np.bool_, bool)):
        return float(value)
    if isinstance(value, (np.integer, np.floating)):
        return float(value)
    return value


def attributes(o):
    out = {}
    for name, value in o.attrs.items():
        if isinstance(value, h5py.Empty):
            out[name] = None
        else:
            array = np.asarray(value, dtype=object if isinstance(value, str) else None)
            out[name] = {"shape": list(np.shape(value)), "values": plain(array)}
    return out


def describe(name):
    """Records every object of a file as h5py reads it."""
    objects = {}
    with h5py.File(name, "r") as f:
        objects[""] = {"attributes": attributes(f)}

        def visit(path, o):
            if isinstance(o, h5py.Datatype):
                return
            entry = {"attributes": attributes(o)}
            if isinstance(o, h5py.Dataset):
                entry["shape"] = None if o.shape is None else list(o.shape)
                external = bool(o.external) or o.is_virtual
                kind = o.dtype.kind
                entry["dtype"] = str(o.dtype)
                if o.shape is not None and not external and kind in "biufSO" and o.size <= 1000:
                    entry["values"] = plain(o[()] if o.shape else np.asarray(o[()]))
                elif o.shape is not None and not external and kind in "iuf":
                    v = o[()].astype(np.float64)
                    flat = v.ravel()
                    entry["sum"] = float(flat.sum())
                    entry["weighted"] = float((flat * (np.arange(flat.size) % 17 + 1)).sum())
            objects[path] = entry

        f.visititems(visit)
    EXPECTED[name] = objects


def pack(name):
    with open(name, "rb") as f, gzip.GzipFile(name + ".gz", "wb", mtime=0) as out:
        out.write(f.read())
    os.remove(name)


def types(name, libver):
    with h5py.File(name, "w", libver=libver) as f:
        for dtype in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 >i2 >i4 >i8 >u2 >f2 >f4 >f8".split():
            f.create_dataset(dtype.replace(">", "big_"), data=ramp((3, 5), dtype))
        f.create_dataset("bool", data=np.array([True, False, True]))
        f.create_dataset("fixed", data=np.array([b"a", b"bcd", b""], dtype="S4"))
        for pad, padding in (("space", h5py.h5t.STR_SPACEPAD), ("nul", h5py.h5t.STR_NULLTERM)):
            t = h5py.h5t.C_S1.copy()
            t.set_size(5)
            t.set_strpad(padding)
            d = h5py.Dataset(h5py.h5d.create(f.id, b"padded_" + pad.encode(), t, h5py.h5s.create_simple((2,))))
            d[...] = np.array([b"ab", b"cdef"])
        f.create_dataset("text", data=["héllo", "", "x" * 300], dtype=h5py.string_dtype())
        f.create_dataset("scalar", data=np.float32(2.5))
        f.create_dataset("scalar_text", data="one")
        f.create_dataset("zero", data=np.zeros((0, 3), np.float32))
        f.create_dataset("empty", data=h5py.Empty("f4"))
        f.create_dataset("unwritten", (2, 3), "f4")
        f.create_dataset("unwritten_filled", (2, 3), "i4", fillvalue=7)
        f.create_dataset("compound", data=np.zeros(2, dtype=[("a", "i4"), ("b", "f8", (2,))]))
        two_bytes = np.array([0x3F80, 0xC020], "u2").view("V2")
        f.create_dataset("opaque", data=two_bytes).attrs["name"] = "bfloat16"
        marked = f.create_dataset("bfloat16", data=two_bytes)  # as Keras stores it
        marked.attrs["a"] = "float16"
        marked.attrs["dtype"] = "bfloat16"
        f.create_dataset("rank4", data=ramp((2, 3, 4, 5), "f4"))
        f["committed"] = np.dtype("f8")
        f.create_dataset("of_committed", data=ramp((4,), "f8"), dtype=f["committed"])
        f.create_dataset("enum", data=np.array([1, 2], "i2"), dtype=h5py.enum_dtype({"ONE": 1, "TWO": 2}, basetype="i2"))
        f.attrs["int"] = 5
        f.attrs["float"] = 0.5
        f.attrs["text"] = "wörld"
        f.attrs["texts"] = ["a", "bc", ""]
        f.attrs["fixed"] = np.array([b"ab", b"c"])
        f.attrs["bytes"] = np.bytes_(b"raw")
        f.attrs["matrix"] = ramp((2, 3), "i4")
        f.attrs["big"] = ramp((4,), ">f4")
        f.attrs["flag"] = True
        f.attrs["nothing"] = h5py.Empty("f4")


def groups(name, libver, count, order=False):
    with h5py.File(name, "w", libver=libver) as f:
        g = f.create_group("a/b", track_order=order)
        for i in range(count):
            g.create_group(str(i))
        last = g[str(count - 1)]
        last.create_dataset("x", data=ramp((3,), "f4"))
        f["alias"] = g[str(0)]
        f["soft"] = h5py.SoftLink("/a/b")
        f["external"] = h5py.ExternalLink("other.h5", "/x")


def many_attributes(name, libver):
    with h5py.File(name, "w", libver=libver) as f:
        for i in range(40):
            f.attrs["attribute_%d" % i] = i
        if libver == "latest":
            f.attrs["large"] = ramp((20000,), "f8")[:8000]
            f.attrs["huge"] = np.zeros(70000, "i1")[:65000]


def chunked(name, libver):
    with h5py.File(name, "w", libver=libver) as f:
        data = ramp((37, 23), "f4")
        f.create_dataset("plain", data=data, chunks=(8, 5))
        f.create_dataset("gzip", data=data, chunks=(8, 5), compression="gzip")
        f.create_dataset("shuffle_gzip", data=ramp((37, 23), "f8"), chunks=(10, 10), compression="gzip", shuffle=True)
        f.create_dataset("fletcher", data=ramp((37, 23), "i2"), chunks=(10, 7), fletcher32=True)
        f.create_dataset("all", data=ramp((37, 23), ">i4"), chunks=(10, 7), compression="gzip", shuffle=True, fletcher32=True)
        f.create_dataset("lzf", data=data, chunks=(30, 20), compression="lzf")
        f.create_dataset("single", data=data, chunks=(37, 23))
        f.create_dataset("single_gzip", data=data, chunks=(37, 23), compression="gzip")
        f.create_dataset("large_chunk", data=ramp((3, 3), "f4"), chunks=(8, 8), maxshape=(None, None))
        f.create_dataset("grow1", data=data, chunks=(3, 4), maxshape=(None, 23))
        f.create_dataset("grow1_gzip", data=data, chunks=(3, 4), maxshape=(None, 23), compression="gzip")
        f.create_dataset("grow_last", data=ramp((7, 8, 9), "i4"), chunks=(2, 3, 2), maxshape=(7, 8, None))
        f.create_dataset("grow2", data=data, chunks=(3, 4), maxshape=(None, None))
        f.create_dataset("grow2_gzip", data=data, chunks=(3, 4), maxshape=(None, None), compression="gzip")
        f.create_dataset("limited", data=ramp((5, 6), "i4"), chunks=(2, 2), maxshape=(50, 11))
        f.create_dataset("many", data=ramp((3000,), "i4"), chunks=(2,))
        f.create_dataset("many_grow", data=ramp((9000,), "i2"), chunks=(2,), maxshape=(None,))
        f.create_dataset("many_grow2", data=ramp((60, 50), "i2"), chunks=(1, 2), maxshape=(None, None))
        sparse = f.create_dataset("sparse", (100, 100), "i4", chunks=(10, 10), fillvalue=-3)
        sparse[35:47, 51:53] = 9
        sparse = f.create_dataset("sparse_pages", (9000,), "i2", chunks=(2,), fillvalue=4)
        sparse[7000:7010] = 1
        sparse = f.create_dataset("sparse_grow", (20000,), "i2", chunks=(2,), fillvalue=4, maxshape=(None,))
        sparse[15000:15010] = 1
        sparse = f.create_dataset("sparse_grow_pages", (300000,), "i1", chunks=(2,), fillvalue=4, maxshape=(None,))
        sparse[100:110] = 2
        sparse[290000:290010] = 1
        masked = f.create_dataset("masked", (10, 10), "<i4", chunks=(8, 5), compression="gzip")
        data = ramp((16, 10), "<i4")
        masked[:8] = data[:8]
        for column in (0, 5):  # the chunks over the edge are stored without the filter
            masked.id.write_direct_chunk((8, column), data[8:, column:column + 5].tobytes(), filter_mask=1)
        shrunk = f.create_dataset("shrunk", data=ramp((20, 20), "i4"), chunks=(3, 3), maxshape=(None, None))
        shrunk.resize((11, 7))
        # Space that is allocated at once and not filtered has the implicit index in new files.
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((4, 3))
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((10, 10))
        d = h5py.Dataset(h5py.h5d.create(f.id, b"implicit", h5py.h5t.NATIVE_INT32, space, properties))
        d[...] = ramp((10, 10), "i4")
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        d = h5py.Dataset(h5py.h5d.create(f.id, b"compact", h5py.h5t.NATIVE_INT32, space, properties))
        d[...] = ramp((10, 10), "i4")


def elsewhere(name):
    with h5py.File(name, "w") as f:
        f.create_dataset("external", (4,), "f4", external=[("data.bin", 0, 16)])
        layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
        layout[:] = h5py.VirtualSource("other.h5", "x", shape=(4,))
        f.create_virtual_dataset("virtual", layout)


def cyclic(name):
    with h5py.File(name, "w") as f:
        g = f.create_group("a/b")
        g["again"] = f["a"]


def diamonds(name):
    """2**40 paths to the last group."""
    with h5py.File(name, "w", libver="latest") as f:
        g = f
        for _ in range(40):
            child = g.create_group("left")
            g["right"] = child
            g = child


def many_links(name):
    """A B-tree of version 2 with two levels of inner nodes."""
    with h5py.File(name, "w", libver="latest") as f:
        for i in range(2500):
            f[str(i)] = h5py.SoftLink("/x")


def user_block(name):
    with h5py.File(name, "w", userblock_size=512) as f:
        f.create_dataset("x", data=ramp((5,), "f4"))
        f.attrs["text"] = "after a user block"
    with open(name, "r+b") as f:
        f.write(b"any text")


def legacy(name):
    """The attributes of a Keras 2 file, with one list in parts."""
    with h5py.File(name, "w") as f:
        f.attrs["keras_version"] = "2.15.0"
        f.attrs["backend"] = "tensorflow"
        f.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"text": "x" * 70000}})
        g = f.create_group("model_weights")
        g.attrs["layer_names"] = [b"dense", b"dense_1"]
        names = np.array([b"a_rather_long_name_of_a_weight_%04d/kernel:0" % i for i in range(2000)])
        for i, part in enumerate(np.array_split(names, 2)):
            g.attrs["weight_names%d" % i] = part


def sizes(name):
    fapl = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    fapl.set_sizes(4, 4)
    fid = h5py.h5f.create(name.encode(), h5py.h5f.ACC_TRUNC, fcpl=fapl)
    with h5py.File(fid) as f:
        f.create_dataset("g/x", data=ramp((5, 2), "f4"))
        f.create_dataset("g/chunked", data=ramp((5, 2), "f4"), chunks=(2, 2), compression="gzip")
        f["g"].attrs["text"] = ["a", "b"]


def seeds():
    """Small files with one feature each, from which fuzzing starts."""
    for version in ("earliest", "latest"):
        with h5py.File(f"seed_group_{version}.h5", "w", libver=version) as f:
            g = f.create_group("vars")
            g.attrs["name"] = "dense"
            g.attrs["names"] = np.array([b"kernel", b"bias"])
            g.create_dataset("0", data=ramp((3, 2), "f4"))
            f["soft"] = h5py.SoftLink("/vars")
        with h5py.File(f"seed_text_{version}.h5", "w", libver=version) as f:
            f["text"] = ["a", "bc"]
            f["bool"] = np.array([True, False])
        with h5py.File(f"seed_gzip_{version}.h5", "w", libver=version) as f:
            f.create_dataset("x", data=ramp((9,), "i4"), chunks=(4,), compression="gzip", shuffle=True, fletcher32=True)
        with h5py.File(f"seed_grow_{version}.h5", "w", libver=version) as f:
            f.create_dataset("x", data=ramp((3, 30), "i1"), chunks=(2, 2), maxshape=(3, None))
        with h5py.File(f"seed_grow2_{version}.h5", "w", libver=version) as f:
            f.create_dataset("x", data=ramp((3, 9), "i1"), chunks=(2, 2), maxshape=(None, None))
        with h5py.File(f"seed_lzf_{version}.h5", "w", libver=version) as f:
            f.create_dataset("x", data=np.zeros((3, 30), "i1"), chunks=(3, 30), compression="lzf")
    with h5py.File("seed_dense.h5", "w", libver="latest") as f:
        for i in range(9):
            f["link%d" % i] = h5py.SoftLink("/x")
            f.attrs["attribute%d" % i] = i


seeds()
for version in ("earliest", "latest"):
    types(f"types_{version}.h5", version)
    chunked(f"chunked_{version}.h5", version)
    many_attributes(f"attributes_{version}.h5", version)
groups("groups_earliest.h5", "earliest", 600)
groups("groups_compact_latest.h5", "latest", 5)
groups("groups_dense_latest.h5", "latest", 300)
groups("groups_ordered.h5", "latest", 40, order=True)
elsewhere("elsewhere.h5")
cyclic("cyclic.h5")
diamonds("diamonds.h5")
many_links("links_latest.h5")
user_block("user_block.h5")
legacy("legacy.h5")
sizes("sizes4.h5")
for file in sorted(os.listdir()):
    if file.endswith(".h5"):
        describe(file)
        pack(file)
with open("expected.json", "w") as f:
    json.dump(EXPECTED, f, separators=(",", ":"), sort_keys=True)
pack("expected.json")
