"""TensorFlow's ParameterServerStrategy on this machine: 2 servers, workers, a coordinator. Prints examples or steps a second."""
import json, multiprocessing as mp, os, random, socket, sys, time
kind, workers, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

def port():  # not one that the system gives to outgoing connections meanwhile
    while True:
        with socket.socket() as s:
            try:
                p = random.randrange(10000, 30000); s.bind(("127.0.0.1", p)); return p
            except OSError:
                pass

def serve(cluster, job, index):
    import tensorflow as tf
    s = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index, protocol="grpc")
    s.join()

if __name__ == "__main__":
    mp.set_start_method("spawn")
    cluster = {"worker": [f"127.0.0.1:{port()}" for _ in range(workers)], "ps": [f"127.0.0.1:{port()}" for _ in range(2)], "chief": [f"127.0.0.1:{port()}"]}
    ps = [mp.Process(target=serve, args=(cluster, j, i), daemon=True) for j in ("ps", "worker") for i in range(len(cluster[j]))]
    [p.start() for p in ps]
    import numpy as np, tensorflow as tf
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), task_type="chief", task_id=0, rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(2))
    c = tf.distribute.coordinator.ClusterCoordinator(strategy)
    if kind == "embedding":
        rows, dim, batch = int(sys.argv[4]), 32, 4096 * 26
        with strategy.scope():
            table = tf.Variable(tf.random.uniform([rows, dim], -0.05, 0.05))
        def make():
            rng = np.random.default_rng(1)
            ids = (rng.zipf(1.2, size=(8, batch)) % rows).astype("int64")
            return tf.data.Dataset.from_tensor_slices(ids).repeat()
        @tf.function
        def step(it):
            ids = next(it)
            with tf.GradientTape() as tape:
                e = tf.nn.embedding_lookup(table.variables if hasattr(table, "variables") else table, ids)
                loss = tf.reduce_sum(e * e) + tf.reduce_sum(e)
            vs = table.variables if hasattr(table, "variables") else [table]
            for v, g in zip(vs, tape.gradient(loss, vs)):
                g = tf.IndexedSlices(g.values, g.indices, g.dense_shape)
                v.scatter_sub(tf.IndexedSlices(0.01 * g.values, g.indices))
        per = 4096
    else:
        batch = int(sys.argv[4])
        with strategy.scope():
            ws = [tf.Variable(tf.random.normal([1140, 1140], stddev=0.03)) for _ in range(2)]
        def make():
            return tf.data.Dataset.from_tensors(tf.ones([batch, 1140])).repeat()
        @tf.function
        def step(it):
            x = next(it)
            with tf.GradientTape() as tape:
                full = [tf.concat(w.variables, 0) if hasattr(w, "variables") else w for w in ws]
                loss = tf.reduce_mean(tf.matmul(tf.nn.relu(tf.matmul(x, full[0])), full[1]) ** 2)
            flat = [v for w in ws for v in (w.variables if hasattr(w, "variables") else [w])]
            for v, g in zip(flat, tape.gradient(loss, flat)):
                v.assign_sub(1e-4 * g)
        per = 1
    it = iter(c.create_per_worker_dataset(make))
    for _ in range(2 * workers): c.schedule(step, (it,))
    c.join()
    def cpu():
        total = 0
        for pid in [os.getpid()] + [p.pid for p in ps]:
            total += sum(int(x) for x in open(f"/proc/{pid}/stat").read().split(") ")[1].split()[11:13])
        return total / 100
    n, t0, c0 = 0, time.time(), cpu()
    while time.time() - t0 < seconds:
        for _ in range(10 * workers): c.schedule(step, (it,))
        c.join(); n += 10 * workers
    d, used = time.time() - t0, cpu() - c0
    print(json.dumps({"tensorflow": kind, "closures": n, "seconds": d, "per_second": n * per / d, "ms_per_closure": 1000 * d / n, "cpu_ms_per_closure": 1000 * used / n, "batch": batch}), flush=True)
    t0 = time.time()
    if kind == "dense" and batch == 32:
        @tf.function
        def nothing(): return 0
        for _ in range(50): c.schedule(nothing)
        c.join(); t0 = time.time()
        for _ in range(1000): c.schedule(nothing)
        c.join()
        print(json.dumps({"tensorflow": "closure", "ms_per_closure": time.time() - t0}), flush=True)
    [p.terminate() for p in ps]
    os._exit(0)
