"""Draws random networks, quantizes them with Keras, and writes down what they predict.

    python internal/randomnets/quantized.py --count 100 --seed 0 --out folder
    python internal/randomnets/quantized.py --check folder

Layers are Dense, EinsumDense, Embedding and ReversibleEmbedding, some of them in models inside of models, used twice, or of mixed precision; the modes int8
(with and without quantized activations), int4 with blocks of all sizes and float8, of all layers or of those that a filter leaves; some layers have LoRA,
enabled before the quantization or after it. For each network there are N.keras and an entry of quantized.json. --check opens N.ours.keras, which
another program has written, and compares what it predicts.
"""
import argparse
import json
import os
import random

os.environ.setdefault('KERAS_BACKEND', 'jax')
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import keras
import numpy as np
from keras import layers
from keras.src.quantizers.quantization_config import Int4QuantizationConfig, Int8QuantizationConfig

EQUATIONS = {2: ['ab,bc->ac', 'ab,cb->ac'], 3: ['abc,cd->abd', 'abc,cde->abde', 'abc,bcd->ad', 'abc,bd->acd', 'abc,dc->abd']}


def draw(r):
    """A network and its input."""
    kind = r.choice(['vectors', 'sequences', 'tokens'])
    batch, steps, width = r.randint(1, 5), r.randint(1, 6), r.randint(1, 40)
    if kind == 'tokens':
        x = np.random.default_rng(r.randrange(1 << 30)).integers(0, 30, (batch, steps)).astype('int32')
        start = keras.Input((steps,), dtype='int32')
        y = layers.Embedding(30, width)(start)
    else:
        shape = (width,) if kind == 'vectors' else (steps, width)
        x = np.random.default_rng(r.randrange(1 << 30)).standard_normal((batch,) + shape).astype('float32')
        y = start = keras.Input(shape)
    comes_back = kind == 'tokens' and r.random() < 0.4
    if comes_back:
        reversible = layers.ReversibleEmbedding(30, width, tie_weights=r.random() < 0.5, logit_soft_cap=r.choice([None, 5.0]))
        y = reversible(start)
    for _ in range(r.randint(1, 3)):
        y = inner(r, y) if r.random() < 0.25 else projection(r, y)
    if r.random() < 0.2:  # one layer twice
        twice = layers.Dense(y.shape[-1], use_bias=r.random() < 0.7)
        y = twice(twice(y))
    if comes_back and len(y.shape) == 3:
        y = reversible(layers.Dense(width)(y), reverse=True)
    return keras.Model(start, y), x


def projection(r, y):
    units, activation = r.randint(1, 70), r.choice([None, 'relu', 'tanh'])
    if r.random() < 0.5 or len(y.shape) not in EQUATIONS:
        return layers.Dense(units, activation=activation, use_bias=r.random() < 0.7)(y)
    equation = r.choice(EQUATIONS[len(y.shape)])
    result, known = equation.split('->')[1], dict(zip(equation.split(',')[0], y.shape))
    shape = [known.get(letter) or (units if i == len(result) - 1 else r.randint(1, 4)) for i, letter in enumerate(result)][1:]
    return layers.EinsumDense(equation, tuple(shape), activation=activation, bias_axes=r.choice([None, result[-1]]))(y)


def inner(r, y):
    """A model inside of the model: functional or sequential, once or twice deep."""
    if r.random() < 0.4:
        return keras.Sequential([layers.Dense(r.randint(1, 40), activation='relu') for _ in range(r.randint(1, 2))])(y)
    start = keras.Input(y.shape[1:])
    z = projection(r, start)
    if r.random() < 0.3:
        z = inner(r, z)
    if r.random() < 0.4:
        z = layers.Concatenate()([z, layers.Dense(r.randint(1, 9))(z)])
    return keras.Model(start, z)(y)


def enable_lora(r, model):
    for layer in model._flatten_layers(include_self=False):
        if hasattr(layer, 'enable_lora') and r.random() < 0.5 and not getattr(layer, 'lora_enabled', False):
            layer.enable_lora(r.randint(1, 3), lora_alpha=r.choice([None, 2]))
            for w in (layer.lora_kernel_a, layer.lora_kernel_b) if hasattr(layer, 'lora_kernel_a') else (layer.lora_embeddings_a, layer.lora_embeddings_b):
                w.assign(np.random.default_rng(r.randrange(1 << 30)).standard_normal(w.shape) * 0.1)


def network(seed):
    r = random.Random(seed)
    keras.utils.set_random_seed(seed)
    keras.config.set_dtype_policy('float32')
    if r.random() < 0.1:
        keras.config.set_dtype_policy('mixed_bfloat16')
    model, x = draw(r)
    keras.config.set_dtype_policy('float32')
    mode = r.choice(['int8', 'int8 weights', 'int4', 'int4', 'int4', 'float8'])
    if r.random() < 0.3 and mode != 'float8':
        enable_lora(r, model)
    filters = '[02468]$' if r.random() < 0.15 else None
    if mode == 'int4':
        block = r.choice([-1, 1, 2, 3, 8, 16, 128])
        mode = f'int4 in blocks of {block}'
        model.quantize(config=Int4QuantizationConfig(block_size=block), filters=filters)
    elif mode == 'int8 weights':
        model.quantize(config=Int8QuantizationConfig(activation_quantizer=None), filters=filters)
    else:
        model.quantize(mode, filters=filters)
    if r.random() < 0.3 and mode != 'float8':
        enable_lora(r, model)
    if model.compute_dtype != 'float32' or any(layer.compute_dtype != 'float32' for layer in model._flatten_layers()):
        mode += ', of 16 bits'
    return mode, model, x


def array(y):
    return keras.ops.convert_to_numpy(y).astype('float32')


def plain(a):
    return {'shape': list(a.shape), 'data': [float(v) for v in a.ravel()]}


def main():
    args = argparse.ArgumentParser()
    args.add_argument('--count', type=int, default=20)
    args.add_argument('--seed', type=int, default=0)
    args.add_argument('--out')
    args.add_argument('--check')
    args = args.parse_args()
    if args.check:
        return check(args.check)
    all, seed = [], args.seed
    while len(all) < args.count:
        try:
            mode, model, x = network(seed)
            array(model(x))
            model.save(os.path.join(args.out, f'{len(all)}.keras'))
            # What the file holds: LoRA is merged and quantized again.
            model = keras.saving.load_model(os.path.join(args.out, f'{len(all)}.keras'))
            y = array(model(x))
            # Layers with LoRA are quantized again whenever they are saved, which changes them.
            again = os.path.join(args.out, 'again.keras')
            model.save(again)
            after = array(keras.saving.load_model(again)(x))
        except Exception as e:  # Keras cannot: an EinsumDense of some equations in int4, LoRA of some, files with a ReversibleEmbedding that is not tied
            print(f'seed {seed}: {type(e).__name__}: {str(e)[:100]}')
            seed += 1
            if seed > args.seed + 20 * args.count:
                raise
            continue
        all.append({'kind': mode, 'number': len(all), 'seed': seed, 'x': plain(x), 'y': [plain(y)], 'after': [plain(after)]})
        seed += 1
    with open(os.path.join(args.out, 'quantized.json'), 'w') as f:
        json.dump({'models': all}, f)


def check(folder):
    with open(os.path.join(folder, 'quantized.json')) as f:
        all = json.load(f)['models']
    opened = 0
    for m in all:
        path = os.path.join(folder, f"{m['number']}.ours.keras")
        if not os.path.exists(path):
            continue
        want = np.array(m['after'][0]['data'], 'float32').reshape(m['after'][0]['shape'])
        try:
            model = keras.saving.load_model(path)
            opened += 1
            x = np.array(m['x']['data'], model.input.dtype).reshape(m['x']['shape'])
            got = array(model(x))
            off = np.max(np.abs(got - want), initial=0) / max(1e-3, np.max(np.abs(want), initial=0))
            if off > 1e-5:
                print(f"model of seed {m['seed']} ({m['kind']}): off by {off}")
        except Exception as e:
            print(f"model of seed {m['seed']} ({m['kind']}): {type(e).__name__}: {' '.join(str(e).split())}"[:400])
    print('opened', opened)


if __name__ == '__main__':
    main()
