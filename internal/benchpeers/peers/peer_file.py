"""Models of files: Keras's .keras on the backend that KERAS_BACKEND names, .onnx on ONNX Runtime or OpenVINO (the word after FILE is the engine).

A key is FILE@bBATCH:predict or FILE@bBATCH:OPTIMIZER; training is Model.train_on_batch with the mean squared error. FILE@bBATCH:step and
FILE@bBATCH:evaluate train and evaluate a model as it was compiled, with the arrays beside the file (see make_parts.py). Files whose names end in
-float64.keras are of floats of 64 bits, and all of a process are or none is.
"""
import os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import work as w

THREADS = int(sys.argv[sys.argv.index("--threads") + 1])
OPEN, OPEN_IMAGE = 32, 224  # the lengths that open axes get, and those of images


def values(shape, dtype, batch):
    shape = [batch] + [n if isinstance(n, int) and n > 0 else OPEN_IMAGE if len(shape) == 4 else OPEN for n in list(shape)[1:]]
    r = np.random.default_rng(0)
    return r.standard_normal(shape).astype("float64" if "float64" in str(dtype) else "float32") if "float" in str(dtype) else r.integers(0, 10, shape).astype("int32")


def least(step):
    """Notes the least processor time of a step, or, where several threads share it, the least time by the clock."""
    job, now = {"least": float("inf")}, time.process_time_ns if THREADS == 1 else time.perf_counter_ns

    def timed():
        t = now()
        step()
        job["least"] = min(job["least"], (now() - t) / 1e9)
    return dict(step=timed, lat=True, least=job)


def onnxruntime(path, batch):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads, o.inter_op_num_threads = THREADS, 1
    o.add_session_config_entry("session.intra_op.allow_spinning", "0")
    s = ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = {i.name: values(i.shape, i.type, batch) for i in s.get_inputs()}
    return lambda: s.run(None, feed)


def openvino(path, batch):
    import openvino as ov
    core = ov.Core()
    model = core.read_model(path)
    feed = {}
    for i in model.inputs:
        shape = [n.get_length() if n.is_static else 0 for n in i.partial_shape]
        feed[i.any_name] = values(shape, "float" if "f" in i.element_type.to_string() else "int", batch)
    model.reshape({k: list(v.shape) for k, v in feed.items()})
    hint = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", hint).create_infer_request()
    return lambda: request.infer(feed)


def keras(path, batch, variant):
    import keras
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf
        tf.config.threading.set_intra_op_parallelism_threads(THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    elif backend == "torch":
        import torch
        torch.set_num_threads(THREADS)
    if path.endswith("-float64.keras"):
        keras.config.set_floatx("float64")
        if backend == "jax":
            import jax
            jax.config.update("jax_enable_x64", True)
    if variant in ("step", "evaluate"):
        m = keras.saving.load_model(path)
        x, y = (np.load(f"{path.removesuffix('.keras')}.{name}.npy") for name in "xy")
        return lambda: m.train_on_batch(x, y) if variant == "step" else m.test_on_batch(x, y)
    m = keras.saving.load_model(path, compile=False)
    x = [values(i.shape, i.dtype, batch) for i in m.inputs]
    x = x[0] if len(x) == 1 else x
    if variant != "predict":
        o = keras.optimizers
        make = {"sgd": lambda: o.SGD(0.01), "mom": lambda: o.SGD(0.1, momentum=0.9), "adam": lambda: o.Adam(1e-3), "adamw": lambda: o.AdamW(1e-3, weight_decay=0.01), "rmsprop": lambda: o.RMSprop(1e-3)}
        m.compile(make[variant](), "mse")
        y = m.predict_on_batch(x)
        return lambda: m.train_on_batch(x, y)
    if backend == "tensorflow":
        f = tf.function(lambda z: m(z, training=False))
        z = tf.nest.map_structure(tf.constant, x)
        return lambda: tf.nest.map_structure(lambda t: t.numpy(), f(z))
    if backend == "jax":
        import jax
        f = jax.jit(lambda t, n, z: m.stateless_call(t, n, z, training=False)[0])
        t, n = [v.value for v in m.trainable_variables], [v.value for v in m.non_trainable_variables]
        z = jax.tree.map(jax.numpy.asarray, x)
        return lambda: jax.block_until_ready(f(t, n, z))

    def run():
        with torch.no_grad():
            m(x, training=False)
    return run


def build(key, threads):
    path, what = key.rsplit("@b", 1)
    size, variant = what.split(":")
    batch = int(size)
    engine = os.environ["PEER_ENGINE"]
    step = {"onnxruntime": onnxruntime, "openvino": openvino}[engine](path, batch) if engine != "keras" else keras(path, batch, variant)
    return dict(least(step), units=batch)


if __name__ == "__main__":
    w.serve(build)
