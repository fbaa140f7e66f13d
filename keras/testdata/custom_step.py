"""Writes custom_step.json.gz: what real Keras computes in train steps of one's own.

Run with KERAS_BACKEND=tensorflow and Keras 3: python custom_step.py

With two paths it reads the weights of the GAN, and of its optimizers, from the first (a .weights.h5 file), trains it for an epoch, writes it to the
second, and prints the logs: python custom_step.py in.weights.h5 out.weights.h5
"""

import gzip
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

keras.config.set_floatx("float64")  # so that steps can be compared beyond the noise of sums

SEED = 20
N, BATCH, FEATURES, LATENT = 22, 8, 6, 3


class GAN(keras.Model):
    """The step of keras.io's DCGAN example, with the noise as data."""

    def __init__(self, critic_steps=1):
        super().__init__()
        self.discriminator = keras.Sequential(
            [layers.Input((FEATURES,)), layers.Dense(7, activation="leaky_relu"), layers.Dense(1)])
        self.generator = keras.Sequential(
            [layers.Input((LATENT,)), layers.Dense(5, use_bias=False), layers.BatchNormalization(), layers.Activation("relu"),
             layers.Dense(FEATURES, activation="tanh")])
        self.critic_steps = critic_steps

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
        self.d_loss_metric = keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss_metric, self.g_loss_metric]

    def call(self, noise, training=False):
        return self.generator(noise, training=training)

    def train_step(self, data):
        real, noise = data
        n = tf.shape(real)[0]
        fake = self.generator(noise, training=True)
        joined = tf.concat([fake, real], axis=0)
        labels = tf.concat([tf.ones((n, 1), "float64"), tf.zeros((n, 1), "float64")], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(joined, training=True))
        v = self.discriminator.trainable_weights
        self.d_optimizer.apply(tape.gradient(d_loss, v), v)
        with tf.GradientTape() as tape:
            predictions = self.discriminator(self.generator(noise, training=True), training=True)
            g_loss = self.loss_fn(tf.zeros((n, 1), "float64"), predictions)
        v = self.generator.trainable_weights
        self.g_optimizer.apply(tape.gradient(g_loss, v), v)
        self.d_loss_metric.update_state(d_loss, sample_weight=n)
        self.g_loss_metric.update_state(g_loss, sample_weight=n)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}


class WGAN(GAN):
    """The step of keras.io's WGAN-GP example: several critic steps, and a penalty on a gradient."""

    def train_step(self, data):
        real, noise = data
        for _ in range(self.critic_steps):
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                d_cost = tf.reduce_mean(self.discriminator(fake, training=True)) - tf.reduce_mean(self.discriminator(real, training=True))
                between = real + 0.25 * (fake - real)
                with tf.GradientTape() as inner:
                    inner.watch(between)
                    pred = self.discriminator(between, training=True)
                grads = inner.gradient(pred, [between])[0]
                norm = tf.sqrt(tf.reduce_sum(tf.square(grads), axis=1))
                d_loss = d_cost + 10.0 * tf.reduce_mean((norm - 1.0) ** 2)
            v = self.discriminator.trainable_variables
            self.d_optimizer.apply(tape.gradient(d_loss, v), v)
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(self.discriminator(self.generator(noise, training=True), training=True))
        v = self.generator.trainable_variables
        self.g_optimizer.apply(tape.gradient(g_loss, v), v)
        n = tf.shape(real)[0]
        self.d_loss_metric.update_state(d_loss, sample_weight=n)
        self.g_loss_metric.update_state(g_loss, sample_weight=n)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}


class Sampling(layers.Layer):
    """Adds the divergence to the loss with add_loss."""

    def call(self, inputs):
        mean, log_var, eps = inputs
        self.add_loss(-0.5 * ops.mean(ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=1)))
        return mean + ops.exp(0.5 * log_var) * eps


class VAE(keras.Model):
    """The step of keras.io's VAE example, with add_loss, a metric, a test step, and the noise as data."""

    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([layers.Input((FEATURES,)), layers.Dense(5, activation="relu", kernel_regularizer=keras.regularizers.L2(0.01))])
        self.mean, self.log_var = layers.Dense(LATENT), layers.Dense(LATENT)
        self.sampling = Sampling()
        self.decoder = keras.Sequential([layers.Input((LATENT,)), layers.Dense(5, activation="relu"), layers.Dense(FEATURES, activation="sigmoid")])
        self.total, self.rebuilt = keras.metrics.Mean(name="loss"), keras.metrics.Mean(name="reconstruction")
        self.mae = keras.metrics.MeanAbsoluteError(name="mae")

    @property
    def metrics(self):
        return [self.total, self.rebuilt, self.mae]

    def call(self, x, eps):
        h = self.encoder(x)
        return self.decoder(self.sampling([self.mean(h), self.log_var(h), eps]))

    def measure(self, data):
        x, eps = data
        y = self(x, eps)
        bce = keras.losses.binary_crossentropy(x, y)
        rebuilt = tf.reduce_mean(bce) * FEATURES
        return x, y, rebuilt, rebuilt + sum(self.losses)

    def report(self, x, y, rebuilt, loss):
        n = tf.shape(x)[0]
        self.total.update_state(loss, sample_weight=n)
        self.rebuilt.update_state(rebuilt, sample_weight=n)
        self.mae.update_state(x, y)
        return {m.name: m.result() for m in self.metrics}

    def train_step(self, data):
        with tf.GradientTape() as tape:
            x, y, rebuilt, loss = self.measure(data)
        v = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, v), v)
        return self.report(x, y, rebuilt, loss)

    def test_step(self, data):
        return self.report(*self.measure(data))


class Own(keras.Model):
    """The step of the guide "Customizing what happens in fit()", with compute_loss and class weights."""

    def train_step(self, data):
        x, y, w = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, w)
        v = self.trainable_variables
        g = [tf.clip_by_value(g, -0.05, 0.05) for g in tape.gradient(loss, v)]
        self.optimizer.apply(g, v)
        for m in self.metrics:
            if m.name == "loss":
                m.update_state(loss, sample_weight=tf.shape(x)[0])
            else:
                m.update_state(y, y_pred, sample_weight=w)
        return {k: v for m in self.metrics for k, v in (m.result().items() if isinstance(m.result(), dict) else [(m.name, m.result())])}


def arrays(values):
    return [np.asarray(v).astype("float64").ravel().tolist() for v in values]


def numbers(logs):
    return {k: [float(x) for x in np.ravel(v)] for k, v in logs.items()}


def run(name, model, x, y, weight=None, validation=False, optimizers=()):
    case = {"name": name, "initial": arrays(model.get_weights()), "epochs": 3, "batch_size": BATCH}
    kw = {"validation_data": (x[:9], y[:9])} if validation else {}
    if weight is not None:
        kw["sample_weight"] = weight
    h = model.fit(x, y, batch_size=BATCH, epochs=3, shuffle=False, verbose=0, **kw)
    case["history"] = numbers(h.history)
    if validation:
        case["evaluate"] = numbers(model.evaluate(x, y, batch_size=5, verbose=0, return_dict=True))
    case["weights"] = arrays(model.get_weights())
    case["optimizers"] = [arrays([v.numpy() for v in o.variables]) for o in optimizers]
    return case


def examples():
    rng = np.random.default_rng(SEED)
    keras.utils.set_random_seed(SEED)
    real = rng.uniform(0.05, 0.95, (N, FEATURES))
    noise = rng.normal(size=(N, LATENT))
    return rng, real, noise


def resume(source, target):
    _, real, noise = examples()
    gan = GAN()
    gan.compile(keras.optimizers.Adam(0.01, beta_1=0.5), keras.optimizers.RMSprop(0.005))
    gan(noise)
    gan.d_optimizer.build(gan.discriminator.trainable_weights)
    gan.g_optimizer.build(gan.generator.trainable_weights)
    for m in gan.metrics:
        m.update_state(0.0)
    gan.load_weights(source)
    iterations = int(gan.d_optimizer.iterations.numpy())
    history = gan.fit(real, noise, batch_size=BATCH, epochs=1, shuffle=False, verbose=0).history
    gan.save_weights(target)
    print(json.dumps({"iterations": iterations, "history": numbers(history)}))


def main():
    rng, real, noise = examples()
    weight = rng.uniform(0.2, 2, N)
    cases = []

    gan = GAN()
    gan.compile(keras.optimizers.Adam(0.01, beta_1=0.5), keras.optimizers.RMSprop(0.005))
    gan(noise)
    cases.append(run("gan", gan, real, noise, optimizers=[gan.d_optimizer, gan.g_optimizer]))

    wgan = WGAN(critic_steps=3)
    wgan.compile(keras.optimizers.Adam(0.002, beta_1=0.5, beta_2=0.9), keras.optimizers.SGD(0.02, momentum=0.9))
    wgan(noise)
    cases.append(run("wgan", wgan, real, noise, optimizers=[wgan.d_optimizer, wgan.g_optimizer]))

    vae = VAE()
    vae.compile(keras.optimizers.Adam(0.01))
    vae(real, noise)
    cases.append(run("vae", vae, real, noise, validation=True, optimizers=[vae.optimizer]))

    inputs = layers.Input((FEATURES,))
    own = Own(inputs, layers.Dense(LATENT)(layers.Dense(4, activation="tanh", kernel_regularizer="l2")(inputs)))
    own.compile(keras.optimizers.SGD(0.1, momentum=0.5), loss="mse", weighted_metrics=["mae"])
    cases.append(run("own", own, real, noise, weight=weight, optimizers=[own.optimizer]))

    out = {
        "generator": "custom_step.py", "keras": keras.__version__, "tensorflow": tf.__version__, "seed": SEED, "tolerance": 1e-5,
        "features": FEATURES, "latent": LATENT,
        "real": real.astype("float64").ravel().tolist(), "noise": noise.astype("float64").ravel().tolist(),
        "weight": weight.astype("float64").ravel().tolist(), "cases": cases,
    }
    with gzip.GzipFile("custom_step.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(out).encode())


if len(sys.argv) == 3:
    resume(sys.argv[1], sys.argv[2])
else:
    main()
