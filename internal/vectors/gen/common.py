"""Shared pieces of the vector generators: the case writer and small helpers.

Every generator of this folder is run as

    KERAS_BACKEND=jax python gen/<set>.py <output directory>

and writes <output directory>/<set>.json.gz. The versions used are recorded in
each file; the checked-in files come from keras 3.15.1, jax 0.10.2,
tensorflow-cpu 2.21.0, numpy 2.4.6 on Python 3.11. Nothing is read from disk and
every number is drawn from a seeded generator, so a second run gives the same
bytes.

float32 and float64 come from two processes, one per setting of JAX's 64-bit switch;
`run` starts both, collects their cases and writes the files. Keras's JAX backend
turns float64 into float32 wherever it works out a result type, which its TensorFlow
backend does not do; the float64 process takes over TensorFlow's rule.
"""

import gzip
import io
import json
import math
import os
import pickle
import platform
import subprocess
import sys
import tempfile

DTYPE = os.environ.get("VECTORS_DTYPE", "float32")
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["KERAS_FLOATX"] = DTYPE
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

BACKEND = keras.backend.backend()
SEED = 20260821


def versions():
    out = {
        "python": platform.python_version(),
        "keras": keras.__version__,
        "numpy": np.__version__,
        "backend": BACKEND,
    }
    if BACKEND == "jax":
        out["jax"] = jax.__version__
    if BACKEND == "tensorflow":
        import tensorflow as tf

        out["tensorflow"] = tf.__version__
    return out


from keras.src.backend.common import dtypes as _dtypes  # noqa: E402


def _attention64(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, implementation=None):
    """jax.nn.dot_product_attention as its XLA implementation computes it, less the
    cast of the logits to float32 before the softmax."""
    jnp = jax.numpy
    groups = query.shape[2] // key.shape[2]
    key, value = jnp.repeat(key, groups, axis=2), jnp.repeat(value, groups, axis=2)
    logits = jnp.einsum("BTNH,BSNH->BNTS", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    keep = jnp.ones(logits.shape, bool)
    if mask is not None:
        keep &= mask
    if is_causal:
        keep &= jnp.tril(jnp.ones(logits.shape[-2:], bool))
    logits = jnp.where(keep, logits, -0.7 * np.finfo(np.float64).max)
    return jnp.einsum("BNTS,BSNH->BTNH", jax.nn.softmax(logits, axis=-1), value)


if DTYPE == "float64":
    _dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    jax.nn.dot_product_attention = _attention64
keras.config.set_floatx(DTYPE)
jax.config.update("jax_enable_x64", DTYPE == "float64")
# JAX multiplies in float32 fully on CPUs; say so in case that changes.
jax.config.update("jax_default_matmul_precision", "highest")


def reset():
    """Starts the automatic names afresh."""
    keras.backend.clear_session(free_memory=False)
    keras.config.set_floatx(DTYPE)


def rng(*key):
    """A generator that depends on the key only, not on the order of cases."""
    text = "/".join(str(k) for k in key).encode()
    return np.random.default_rng([SEED, *text])


def grid(r, shape, scale=1.0, digits=3):
    """Normal numbers rounded to a few decimals: short to store, exact to read."""
    return np.round(r.normal(size=shape) * scale, digits)


def numpy(value):
    if value is None:
        return None
    return np.asarray(keras.ops.convert_to_numpy(value))


def encode_number(v):
    if math.isnan(v):
        return "NaN"
    if math.isinf(v):
        return "Infinity" if v > 0 else "-Infinity"
    if v == 0:
        return 0
    if v == int(v) and abs(v) < 1e15:
        return int(v)
    return v


def array(name, value, atol=None):
    a = numpy(value)
    dtype = str(a.dtype)
    flat = a.reshape(-1)
    if dtype in ("bfloat16", "float16"):
        data = [encode_number(float(v)) for v in flat.astype("float32")]
    elif dtype == "float32":
        # The shortest decimal that reads back as the same float32.
        data = [encode_number(float(str(v))) for v in flat]
    elif dtype == "float64":
        data = [encode_number(float(v)) for v in flat]
    else:
        data = [int(v) for v in flat]
    out = {"name": name, "shape": list(a.shape), "dtype": dtype, "data": data}
    if atol is not None:
        out["atol"] = atol
    return out


def arrays(named):
    """Accepts a dict or a list of (name, value); keeps the order."""
    if named is None:
        return []
    items = named.items() if isinstance(named, dict) else named
    return [array(n, v) for n, v in items if v is not None]


def jsonable(value):
    """Plain JSON from what get_config and friends return."""
    if isinstance(value, dict):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(v) for v in value]
    if isinstance(value, np.ndarray):
        return jsonable(value.tolist())
    if isinstance(value, (np.floating, float)):
        v = float(value)
        if math.isnan(v) or math.isinf(v):
            return encode_number(v)
        return v
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "get_config"):
        return jsonable(keras.saving.serialize_keras_object(value))
    raise TypeError(f"no JSON form for {type(value)}")


def object_config(obj):
    """(class_name, config) of a Keras object as model.to_json would hold them."""
    data = keras.saving.serialize_keras_object(obj)
    return data["class_name"], jsonable(data["config"])


# Tolerances. float64: the order of summation is the only difference allowed.
BASE_RTOL = {"float64": 1e-10, "float32": 1e-5}
BASE_ATOL = {"float64": 1e-12, "float32": 1e-6}


class Writer:
    def __init__(self, name, generator):
        self.name = name
        self.generator = os.path.basename(generator)
        self.cases = []
        self.names = set()
        self.notes = []

    def case(self, name, class_name="", config=None, dtype="float32", inputs=None,
             outputs=None, gradients=None, weights=None, extra=None,
             rtol=None, atol=None, exact_scale=False):
        """Adds a case. exact_scale keeps the float32 tolerance at its base even
        where float32 and float64 disagree (saturation, for instance)."""
        full = f"{name}/{dtype}"
        if full in self.names:
            raise ValueError(f"two cases named {full}")
        self.names.add(full)
        case = {
            "name": full,
            "class": class_name,
            "config": config,
            "dtype": dtype,
            "inputs": arrays(inputs),
            "outputs": arrays(outputs),
            "gradients": arrays(gradients),
            "weights": arrays(weights),
            "extra": jsonable(extra) if extra is not None else None,
            "rtol": BASE_RTOL.get(dtype, 1e-5) if rtol is None else rtol,
            "atol": BASE_ATOL.get(dtype, 1e-6) if atol is None else atol,
        }
        case["_pair"] = name
        case["_exact"] = exact_scale
        self.cases.append({k: v for k, v in case.items() if v not in (None, [], "")})

    def _set_tolerances(self):
        """atol grows with the size of an array, and for float32 with the distance
        of Keras's own float32 result from its float64 result."""
        wide = {c["_pair"]: c for c in self.cases if c["dtype"] == "float64"}
        for c in self.cases:
            other = wide.get(c["_pair"]) if c["dtype"] == "float32" or self.name == "layer_types" and c["dtype"] != "float64" else None
            for group in ("outputs", "gradients", "weights"):
                for a in c.get(group, []):
                    if not a["dtype"].startswith(("float", "bfloat")):
                        continue
                    v = np.array([float(x) for x in a["data"]])
                    finite = np.abs(v[np.isfinite(v)])
                    scale = float(finite.max()) if finite.size else 0.0
                    atol = c["atol"] * max(1.0, scale)
                    match = None
                    if other is not None:
                        match = next((b for b in other.get(group, [])
                                      if b["name"] == a["name"] and b["shape"] == a["shape"]), None)
                    if match is not None and not c["_exact"]:
                        w = np.array([float(x) for x in match["data"]])
                        both = np.isfinite(v) & np.isfinite(w)
                        err = np.abs(v - w)[both]
                        diff = float(err.max()) if err.size else 0.0
                        if (np.isfinite(v) != np.isfinite(w)).any():
                            self.notes.append(f"{c['name']} {group} {a['name']}: finiteness differs")
                        if diff > 1e-4 * max(scale, 1e-3):
                            self.notes.append(
                                f"{c['name']} {group} {a['name']}: float32 is {diff:.3g} off, scale {scale:.3g}")
                        atol = max(atol, 4 * diff)
                    if atol > c["atol"] * 1.001:
                        a["atol"] = float(f"{atol:.2e}")
                    if not np.isfinite(v).all():
                        self.notes.append(f"{c['name']} {group} {a['name']}: holds NaN or Inf")

    def write(self, out_dir):
        """Keeps the cases for `run`, which joins those of all its processes."""
        with open(os.path.join(os.environ["VECTORS_PARTS"], self.name), "wb") as f:
            pickle.dump((self.name, self.generator, self.cases, self.notes, versions()), f)

    def save(self, out_dir, used):
        self._set_tolerances()
        cases = [{k: v for k, v in c.items() if not k.startswith("_")} for c in self.cases]
        head = {"generator": self.generator, "versions": used, "seed": SEED}
        lines = [json.dumps(head)[:-1] + ', "cases": [']
        for i, c in enumerate(cases):
            lines.append(json.dumps(c, separators=(",", ":"), allow_nan=False)
                         + ("," if i + 1 < len(cases) else ""))
        lines.append("]}\n")
        text = "\n".join(lines).encode()
        path = os.path.join(out_dir, self.name + ".json.gz")
        raw = io.BytesIO()
        with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=9) as f:
            f.write(text)
        with open(path + ".part", "wb") as f:
            f.write(raw.getvalue())
        os.replace(path + ".part", path)
        for n in self.notes:
            print("note:", n)
        print(f"{path}: {len(cases)} cases, {len(raw.getvalue())} bytes ({len(text)} as text)")


def out_dir():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} <output directory>")
    os.makedirs(sys.argv[1], exist_ok=True)
    return sys.argv[1]


def run(main, dtypes=("float32", "float64")):
    """Runs main once per dtype, each in a process of its own, and writes the sets."""
    if "VECTORS_DTYPE" in os.environ:
        main()
        return
    out = out_dir()
    joined = {}
    for dtype in dtypes:
        with tempfile.TemporaryDirectory() as parts:
            subprocess.run([sys.executable, *sys.argv], check=True,
                           env={**os.environ, "VECTORS_DTYPE": dtype, "VECTORS_PARTS": parts})
            for file in sorted(os.listdir(parts)):
                with open(os.path.join(parts, file), "rb") as f:
                    name, generator, cases, notes, used = pickle.load(f)
                w = joined.setdefault(name, (Writer(name, generator), used))[0]
                w.cases += cases
                w.notes += notes
    for w, used in joined.values():
        w.save(out, used)
