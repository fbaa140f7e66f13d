"""Draws calls of every function of keras.ops on axes of length 0 and 1 and of lengths around those of vectors; `randomops.py draw N SEED FILE edges` writes N
of them down, `randomops.py settle CALLS LISTS... FILE` joins the answers of jax, tensorflow, numpy and torch, in this order.

The rows are those of sweep.py: an axis is a letter there, and its length is drawn here, most often 0 for one of them. An answer counts that three of four backends give:
about nothing each has opinions of its own.
"""
import random

import sweep

LENGTHS = [1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33]
TYPES = ['float32', 'float32', 'float32', 'float64', 'bfloat16', 'float16', 'int32', 'int64', 'uint8', 'bool']
FLOATS = ['float32', 'float32', 'float64', 'bfloat16', 'float16']


def fitted(row, lengths):
    """The row with the arguments that follow from lengths."""
    name, operands, kwargs = row
    n, k = lengths['n'], lengths['k']
    if name == 'reshape' and operands[1] != [-1]:
        operands = [operands[0], [k, n]]
    elif name in ('broadcast_to', 'scatter'):
        operands = [*operands[:-1], [n, k]]
    return name, operands, kwargs


def draw(count, seed, Call):
    r = random.Random(seed)
    calls = []
    while len(calls) < count:
        row = r.choice(sweep.ROWS)
        names, operands = sweep.letters(row)
        lengths = {c: r.choice(LENGTHS) for c in 'nkmbc'}
        for c in names:  # most rows have one empty axis, some none or several
            if r.random() < 0.8 / len(names):
                lengths[c] = 0
        while sum(shape(o, lengths) for o in row[1]) > 250:
            longest = max('nkmbc', key=lambda c: lengths[c])
            lengths[longest] //= 2
        kinds = (r.choice(TYPES),) if operands == 1 or r.random() < 0.9 else (r.choice(TYPES), r.choice(FLOATS))
        sweep.LENGTHS.update(lengths)
        sweep.PLACES.update({name: (at, max(1, {'take': lengths['n'], 'take_along_axis': lengths['k'], 'scatter': lengths['n'], 'scatter_update': lengths['n'], 'in_top_k': lengths['k'],
                                                'sparse_categorical_crossentropy': lengths['k']}.get(name, 3))) for name, (at, _) in sweep.PLACES.items()})
        calls.append(sweep.call(r, Call, fitted(row, lengths), kinds, ''))
    return calls


def shape(operand, lengths):
    """The number of elements of an operand of a row."""
    if isinstance(operand, list):
        return sum(shape(o, lengths) for o in operand if isinstance(o, str))
    if not isinstance(operand, str) or '->' in operand or not set(operand) <= set('nkmbc135'):
        return 0
    n = 1
    for c in operand:
        n *= lengths.get(c) if c in lengths else int(c)
    return n


def settle(calls, lists, close):
    """The calls with the answer that three backends give; lists are those of jax, tensorflow, and others."""
    kept = []
    for i, c in enumerate(calls):
        answers = [a[i] for a in lists]
        for a in answers[:2]:
            same = [b for b in answers if close(b, a)]
            if len(same) >= 3:
                if 'error' in a and not a['error'].startswith('ValueError'):
                    continue  # a type that a backend does not have
                answer = a if 'error' in a else max(same, key=lambda b: [o['dtype'] for o in b['outputs']])  # of two types the coarser one says how far the numbers are right
                if sum(len(o['data']) for o in answer.get('outputs', [])) < 300:
                    kept.append({**c, 'answer': answer})
                break
    return kept
