"""Random variables through TensorFlow's partitioners and ParameterServerStrategy: the number of parts along each axis, or
that there is an error. Writes random.json.gz beside itself.."""
import gzip, json, os, pathlib, random, re, socket

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

P = tf.distribute.experimental.partitioners
draw = random.Random(20)
types = {"float32": 4, "float64": 8, "float16": 2, "int64": 8, "bool": 1, "complex64": 8}


def length():
    return draw.choice([0, 1, 1, 2, 3, 5, 7, draw.randint(1, 40), draw.randint(1, 3000), draw.randint(1, 200000)])


def size():
    return draw.choice([1, 2, 3, draw.randint(1, 50), draw.randint(1, 5000), draw.randint(1, 1 << 20), draw.randint(1, 1 << 30)])


cases = []
while len(cases) < 600:
    shape = [length() for _ in range(draw.randint(1, 4))]
    name = draw.choice(sorted(types))
    kind = draw.choice(["fixed", "min", "max"])
    axis = draw.randint(0, len(shape) - 1)
    case = {"kind": kind, "shape": shape, "bytes": types[name], "axis": axis, "most": draw.choice([0, 1, 2, draw.randint(1, 20), draw.randint(1, 400)]), "size": size()}
    try:
        if kind == "fixed":
            if case["most"] == 0:
                continue
            p = P.FixedShardsPartitioner(case["most"])
            axis = case["axis"] = 0
        elif kind == "min":
            p = P.MinSizePartitioner(min_shard_bytes=case["size"], max_shards=case["most"] or 1)
            axis = case["axis"] = 0
        else:
            p = P.MaxSizePartitioner(max_shard_bytes=case["size"], max_shards=case["most"] or None)
            axis = case["axis"] = 0
        case["parts"] = [int(n) for n in p(tf.TensorShape(shape), tf.dtypes.as_dtype(name))]
    except (ValueError, TypeError, ZeroDivisionError, AssertionError) as e:
        case["error"] = type(e).__name__ + ": " + str(e)[:80]
    cases.append(case)

# Shards of variables that a strategy over three servers makes one after another: their rows and their servers.
def shards():
    ports = []
    for _ in range(5):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        ports.append(s)
    names = [f"127.0.0.1:{s.getsockname()[1]}" for s in ports]
    [s.close() for s in ports]
    cluster = {"ps": names[:3], "worker": names[3:4], "chief": names[4:]}
    servers = [tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=i, protocol="grpc") for job, n in (("ps", 3), ("worker", 1)) for i in range(n)]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec(cluster), task_type="chief", task_id=0, rpc_layer="grpc")
    wanted = [1]
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=lambda shape, dtype, **_: [wanted[0]] + [1] * (len(shape) - 1))
    made = []
    with strategy.scope():
        for _ in range(80):
            shape = [draw.choice([1, 2, 3, draw.randint(1, 12), draw.randint(1, 300)])] + [draw.randint(1, 3) for _ in range(draw.randint(0, 2))]
            wanted[0] = draw.choice([1, 2, 3, 4, draw.randint(1, 40)])
            v = tf.Variable(tf.zeros(shape))
            parts = list(getattr(v, "variables", [v]))
            made.append({"shape": shape, "parts": wanted[0], "rows": [int(p.shape[0]) for p in parts], "servers": [int(re.search("task:([0-9]+)", p.device).group(1)) for p in parts]})
    return made, servers


made, keep = shards()
path = pathlib.Path(__file__).with_name("random.json.gz")
path.write_bytes(gzip.compress(json.dumps({"tensorflow": tf.__version__, "cases": cases, "variables": made}, separators=(",", ":")).encode(), mtime=0))
print(len(cases), sum("error" in c for c in cases), {c["error"] for c in cases if "error" in c}, made[:5], flush=True)
os._exit(0)
