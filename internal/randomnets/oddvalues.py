"""Odd values of configurations, for randomodd.py and for odd.py of randomtraining: null, words, numbers as text, lists, no key at all."""
import copy

MISSING = '(missing)'
VALUES = [None, MISSING, 'word', '2', True, 0.5, -1, [], {}, [None]]


def replaced(v, at, value):
    """A configuration with the value in a place."""
    v = copy.deepcopy(v)
    inner = v
    for k in at[:-1]:
        inner = inner[k]
    if value == MISSING:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return v


def left_out(pairs, at, value):
    """Whether a key with a value is one of the pairs: 1 and True are not the same here, and lists are none of them."""
    return any(key == at[-1] and type(other) is type(value) and other == value for key, other in pairs)
