"""TensorFlow's all_reduce in MultiWorkerMirroredStrategy with the implementation RING, over the loopback interface. TF_CONFIG says who this is.
A call from Python costs more than a small reduction, so several are chained in one traced function."""
import os, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from protocol import serve

tf.config.threading.set_intra_op_parallelism_threads(1)
options = tf.distribute.experimental.CommunicationOptions(implementation=tf.distribute.experimental.CommunicationImplementation.RING)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
n = strategy.num_replicas_in_sync
programs = {}


def program(size, chained):
    def replica(x):
        x = tf.identity(x)
        for _ in range(chained):
            x = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x, options=options) * (1 / n)
        return x
    return tf.function(lambda x: strategy.run(replica, (x,)))


def measure(size, count):
    chained = max(1, min(20, (16 << 20) // size))
    key = size, chained
    if key not in programs:
        programs[key] = program(*key), tf.ones(size // 4)
        programs[key][0](programs[key][1])
    f, x = programs[key]
    seconds = []
    for _ in range(-(-count // chained)):
        begun = time.perf_counter()
        y = strategy.experimental_local_results(f(x))[0].numpy()
        seconds += [(time.perf_counter() - begun) / chained] * chained
    assert abs(y[0] - 1) < 1e-5 and abs(y[-1] - 1) < 1e-5
    return seconds[:count]


serve(measure)
