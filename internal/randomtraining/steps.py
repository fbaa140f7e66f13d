"""Draws training steps of one's own, and writes down what Keras makes of them.

    python internal/randomtraining/steps.py 60 0 internal/randomtraining/testdata/steps.json.gz

A step is a program of phases. Each takes the gradient of a loss, a sum of terms (that of compile, penalties of outputs, features, weights and gradients, a teacher, inputs that were moved by
gradients), changes it or not, and updates all variables, or those of one part of the model with an optimizer of its own. At the end a teacher may follow the student. Between calls of fit, parts are
frozen and thawed, rates change and weights are set. All of it computes in float64.
"""
import json
import os
import sys

os.environ['KERAS_BACKEND'] = 'tensorflow'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import runs
import tensorflow as tf
from draw import Draw, error, exact_constants, numbers, plain, short, write

L, K = keras.layers, keras.losses


class Stepped(keras.Model):
    """body and head, trained by a program."""

    def __init__(self, program, body, head, teacher, optimizers):
        super().__init__(name='stepped')
        self.program, self.body, self.head, self.teacher = program, body, head, teacher
        self.of_body, self.of_head = optimizers
        self.trackers = [keras.metrics.Mean(name='p%d' % k) for k in range(len(program['phases']))]

    def call(self, x, training=False):
        return self.head(self.body(x, training=training), training=training)

    def build(self, shape):
        self.built = True

    def term(self, name, training, x, y, w):
        if name == 'penalty':
            with tf.GradientTape() as tape:
                tape.watch(x)
                out = tf.reduce_sum(self(x, training=training))
            g = tape.gradient(out, x)
            return tf.reduce_mean(tf.square(tf.sqrt(tf.reduce_sum(tf.square(g), 1) + 1e-6) - 1))
        if name == 'moved':
            with tf.GradientTape() as tape:
                tape.watch(x)
                out = tf.reduce_mean(tf.square(self(x, training=training)))
            x = x + 0.1 * tf.tanh(5 * tf.stop_gradient(tape.gradient(out, x)))
            return tf.reduce_mean(tf.square(self(x, training=training)))
        if name == 'decay':
            return 0.05 * sum(tf.reduce_sum(tf.square(v)) for v in self.head.weights)
        features = self.body(x, training=training)
        if name == 'features':
            return tf.reduce_mean(tf.reduce_sum(tf.square(features), 1))
        pred = self.head(features, training=training)
        if name == 'compiled':
            loss = self.compute_loss(x, y, pred, w)
            self._loss_tracker.update_state(loss, sample_weight=tf.cast(tf.shape(x)[0], loss.dtype))  # as Keras's own step does
            return loss
        if name == 'square':
            return tf.reduce_mean(tf.square(pred))
        if name == 'stop':
            return tf.reduce_mean(tf.square(pred - tf.stop_gradient(tf.reduce_sum(features, 1, keepdims=True))))
        if name == 'teach':
            return tf.reduce_mean(tf.square(pred - tf.stop_gradient(self.teacher(features, training=False))))
        raise ValueError(name)

    def train_step(self, data):
        x, y, w = keras.utils.unpack_x_y_sample_weight(data)
        pred = self(x, training=True)
        for k, phase in enumerate(self.program['phases']):
            part, optimizer = {'all': (self, self.optimizer), 'body': (self.body, self.of_body), 'head': (self.head, self.of_head)}[phase['of']]
            variables = part.trainable_variables
            if not variables:
                continue
            for _ in range(phase['times']):
                with tf.GradientTape() as tape:
                    loss = sum(c * self.term(name, training, x, y, w) for name, c, training in phase['terms'])
                g = tape.gradient(loss, [v.value for v in variables])
                if phase['how'] == 'clipped':
                    g = [v if v is None else tf.clip_by_value(v, -0.05, 0.05) for v in g]
                elif phase['how'] == 'scaled':
                    g = [v if v is None else 0.5 * v for v in g]
                optimizer.apply(g, variables)
            self.trackers[k].update_state(loss, sample_weight=tf.cast(tf.shape(x)[0], loss.dtype))
        if self.program['follow']:
            for a, b in zip(self.teacher.weights, self.head.weights):
                a.assign(0.75 * a + 0.25 * b)
        return self.compute_metrics(x, y, pred, w)


def part(d, inputs, last):
    layers = [keras.Input((inputs,))]
    if last is None:
        units = d.of(2, 3, 4)
        if d.random() < 0.3:  # in front of which a bias has no gradient but rounding
            layers += [L.Dense(units, use_bias=False), L.BatchNormalization(momentum=0.5), L.Activation('tanh')]
        else:
            layers.append(L.Dense(units, activation=d.of('tanh', 'softplus', 'sigmoid'), **d.maybe(0.25, kernel_regularizer=d.of('l2', keras.regularizers.L1L2(0.01, 0.02)), kernel_constraint=keras.constraints.MaxNorm(0.8))))
    else:
        layers.append(L.Dense(last, **d.maybe(0.2, kernel_regularizer='l2', activity_regularizer=keras.regularizers.L2(0.05))))
    return keras.Sequential(layers, name='body' if last is None else 'head')


def draw_terms(d, teacher, of):
    names = ['compiled', 'compiled', 'compiled', 'square', 'stop', 'penalty', 'moved', 'decay'] + ['features'] * (of != 'head') + ['teach'] * (2 * teacher)
    terms = [[d.choice(names), d.of(1.0, 0.5, 2.0), d.random() < 0.8] for _ in range(d.of(1, 1, 2, 3))]
    if all(t[0] in ('decay', 'features', 'penalty') for t in terms):  # some variables would have no gradient
        terms[0][0] = 'compiled'
    compiled = [t for t in terms if t[0] == 'compiled']
    for t in compiled[1:]:  # once, as it updates its metric
        t[0] = 'square'
    return terms


def draw_optimizer(d):
    while True:
        o = runs.draw_optimizer(d)
        if type(o).__name__ not in ('LossScaleOptimizer', 'Lion', 'Muon', 'ScheduleFreeAdamW') and o.loss_scale_factor is None and not o.use_ema:
            return o


def draw_program(d, teacher):
    phase = lambda of: {'of': of, 'terms': draw_terms(d, teacher, of), 'how': d.of('minimize', 'minimize', 'minimize', 'clipped', 'scaled'), 'times': d.of(1, 1, 1, 2)}
    phases = [phase(of) for of in d.of(['all'], ['all'], ['body', 'head'], ['head', 'body'], ['head', 'head', 'body'])]
    seen = False
    for p in phases:
        for t in p['terms']:
            if t[0] == 'compiled' and (seen or p['times'] > 1):
                t[0] = 'square'
            seen |= t[0] == 'compiled'
    return {'phases': phases, 'follow': teacher and d.random() < 0.7}


def fill(part, seed):
    runs.set_weights(part, seed)


def state(m):
    return [plain(keras.ops.convert_to_numpy(w), 8) for p in (m.body, m.head, m.teacher) if p is not None for w in p.weights]


def run(seed):
    d = Draw(seed)
    width, inputs = d.of(1, 1, 2), d.of(2, 3)
    body = part(d, inputs, None)
    head = part(d, body.output_shape[-1], width)
    teacher = None
    if d.random() < 0.4 and not any(l.activity_regularizer for l in head.layers):  # what a teacher adds to the loss would have no gradient outside of the tape that it was called in
        teacher = keras.models.clone_model(head)
        teacher.trainable = False
    n, batch = d.randint(4, 9), d.randint(2, 4)
    if len(body.layers) > 1:  # of two examples a normalization lets so little of a gradient through that a difference of 1e-12 comes to 1e-6 in two epochs
        batch = max(batch, 3)
    if n % batch == 1:  # a batch of one example leaves nothing but rounding where it is normalized
        n += 1
    c = {'class': 'steps', 'number': seed, 'seed': d.randrange(1 << 20), 'batch': batch, 'program': draw_program(d, teacher is not None),
         'x': d.array('grid', [n, inputs], 'float64'), 'y': d.array('grid', [n, width], 'float64'), 'w': d.array('positive', [n], 'float64') if d.random() < 0.3 else None}
    if len(body.layers) > 1:  # TensorFlow keeps gradients of gradients from the mean of a batch: finite differences say that these are wrong
        for p in c['program']['phases']:
            for t in p['terms']:
                t[2] = t[2] and t[0] != 'penalty'
    loss = d.of(K.MeanSquaredError(), K.Huber(), K.LogCosh(reduction=d.of('sum', 'sum_over_batch_size')), K.BinaryCrossentropy(from_logits=True))
    own = [draw_optimizer(d) for _ in range(3)]
    m = Stepped(c['program'], body, head, teacher, own[1:])
    c['parts'] = [None if p is None else json.loads(p.to_json()) for p in (body, head, teacher)]
    compiled = {'optimizer': own[0], 'loss': loss, 'metrics': d.of([], ['mae'], ['mae', 'mse'])}
    c['compile'] = json.loads(json.dumps(keras.saving.serialize_keras_object(compiled)))
    c['optimizers'] = json.loads(json.dumps(keras.saving.serialize_keras_object(own[1:])))
    for k, p in enumerate((body, head, teacher)):
        if p is not None:
            fill(p, c['seed'] + 100 * k)
    m.compile(**compiled, run_eagerly=True)
    x, y, w = numbers(c['x']), numbers(c['y']), None if c['w'] is None else numbers(c['w'])
    c['calls'] = []
    for k in range(d.randint(1, 4)):
        call = {'epochs': d.randint(1, 3)}
        if k:
            call['before'] = d.of('nothing', 'freeze', 'thaw', 'weights', 'compile')
            call['part'] = d.of(0, 1)
            call['seed'] = d.randrange(1 << 20)
            prepare(m, c, call)
        h = m.fit(x, y, sample_weight=w, batch_size=batch, epochs=call['epochs'], shuffle=False, verbose=0)
        logs = runs.logs_of(h.history)
        trained = [bool({'all': m, 'body': m.body, 'head': m.head}[p['of']].trainable_variables) for p in c['program']['phases']]
        if not any(t[0] == 'compiled' for p, on in zip(c['program']['phases'], trained) if on for t in p['terms']):
            logs.pop('loss', None)
        for i, on in enumerate(trained):
            if not on:
                logs.pop('p%d' % i, None)
        scores = m.evaluate(x, y, sample_weight=w, batch_size=batch, verbose=0, return_dict=True)
        call['answer'] = {'history': logs, 'scores': {k: [short(v, 7)] for k, v in scores.items() if k[0] != 'p'}, 'state': state(m), 'predictions': [plain(m.predict(x, batch_size=batch, verbose=0), 7)]}
        if not all(isinstance(v, float) for s in call['answer']['state'] for v in s['data']):
            raise ValueError('weights that are not finite')
        c['calls'].append(call)
    return c


def prepare(m, c, call):
    p = (m.body, m.head)[call['part']]
    if call['before'] == 'freeze' and (m.head, m.body)[call['part']].trainable:
        p.trainable = False
    if call['before'] == 'thaw':
        p.trainable = True
    if call['before'] in ('freeze', 'thaw', 'compile'):
        m.compile(**keras.saving.deserialize_keras_object(json.loads(json.dumps(c['compile']))), run_eagerly=True)
    if call['before'] in ('freeze', 'thaw'):  # of the variables that there are now
        m.of_body, m.of_head = keras.saving.deserialize_keras_object(json.loads(json.dumps(c['optimizers'])))
    if call['before'] == 'weights':
        fill(p, call['seed'])


def main():
    exact_constants()
    keras.config.set_floatx('float64')
    out, errors = [], {}
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
        keras.backend.clear_session()
        try:
            out.append(run(number))
        except Exception as e:
            errors.setdefault(error(e), []).append(number)
            if os.environ.get('STEPS_DEBUG'):
                import traceback
                traceback.print_exc()
    write(sys.argv[3], out)
    print(len(out), 'programs, Keras refuses', json.dumps(errors, indent=1), file=sys.stderr)


if __name__ == '__main__':
    main()
