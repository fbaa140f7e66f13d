"""Steps of small models in TensorFlow's MultiWorkerMirroredStrategy with the implementation RING. TF_CONFIG says who this is, the argument what to
train: MODEL:REPLICAS. A call from Python costs more than a small step, so a traced function makes ten."""
import os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
from protocol import serve

tf.config.threading.set_intra_op_parallelism_threads(1)
options = tf.distribute.experimental.CommunicationOptions(implementation=tf.distribute.experimental.CommunicationImplementation.RING)
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
model_name = sys.argv[1].split(":")[0]
batch, chained = 16, 10
shape = {"dense": (8,), "mlp": (32,), "lstm": (10, 8)}[model_name]
layer = tf.keras.layers
with strategy.scope():
    model = tf.keras.Sequential({"dense": [layer.Dense(1)],
                                 "mlp": [layer.Dense(32, activation="relu"), layer.Dense(32, activation="relu"), layer.Dense(1)],
                                 "lstm": [layer.LSTM(16), layer.Dense(1)]}[model_name])
    model.build((None, *shape))
    variables = [v.value for v in model.trainable_variables]
    slots = [] if model_name == "dense" else [[tf.Variable(tf.zeros_like(v)) for v in variables] for _ in range(2)]
x, y = tf.random.uniform((batch, *shape)), tf.random.uniform((batch, 1))


def replica():
    context = tf.distribute.get_replica_context()
    for _ in range(chained):
        with tf.GradientTape() as tape:
            tape.watch(variables)
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2) / strategy.num_replicas_in_sync
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, variables), options=options)
        for i, (v, g) in enumerate(zip(variables, gradients)):
            if slots:
                m, s = slots[0][i], slots[1][i]
                m.assign_add((g - m) * 0.1)
                s.assign_add((g * g - s) * 0.001)
                g = m / (tf.sqrt(s) + 1e-7)
            v.assign_sub(0.001 * g)
    return loss


step = tf.function(lambda: strategy.run(replica))
step()


def measure(_, count):
    begun = time.perf_counter()
    for _ in range(-(-count // chained)):
        out = step()
    strategy.experimental_local_results(out)[0].numpy()
    return [(time.perf_counter() - begun) / (-(-count // chained) * chained)]


serve(measure)
