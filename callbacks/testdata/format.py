"""Writes format.json.gz: what Python's str.format, and repr, make of numbers.

    python format.py

A case is [value, specification, result], result null where Python raises an error; floats that JSON lacks are strings.
templates are [template, values, result].
"""
import gzip
import io
import json
import math
import struct

FLOATS = [0.0, -0.0, 1.0, 0.5, -1.5, 0.1, 1 / 3, 2 / 3, 1e-5, 0.0001, 0.00012345, 123456.789, -98765.4321, 1e15, 1e16, 1.5e17, 1e22, 1e23, 5e-324, 1.7976931348623157e308,
          0.045, 2.5, 3.5, 0.9999999, 999999.5, 1e100, struct.unpack("f", struct.pack("f", 0.1))[0], math.nan, math.inf, -math.inf]
INTS = [0, 1, 7, 42, -3, 1234, 1234567, 65]
SPECS = ["", "d", "02d", "3", "03", "05d", "<5", ">5", "^6", "=+6", "*^9", "x", "#x", "X", "#b", "o", "c", ",", "_", "_x", "012,", "08,", "+", " ", "-", "n",
         "f", ".2f", ".0f", "#.0f", ".4e", ".0e", "#.0e", "E", "g", ".3g", "#g", ".10g", "G", "%", ".1%", ".3", ".0", ".10", "10.3f", "010.3f", "+.2f", "*>12.1e", "^12.2f", "<8.1f|"[:-1],
         "z.1f", "+z.0f", ",.2f", "_.1f", "015,.1f", "=10.2f", "<05d", "<05.1f", "s", ".2d", "q", "10.", "..2f", ",x", "é>7", "0<8", "F", "nan", "#", "#.3", "09%", ".25f", ".17g", ",n"]


def plain(x):
    if isinstance(x, float) and not math.isfinite(x):
        return repr(x)
    return x


def formatted(v, spec):
    try:
        return format(v, spec)
    except (ValueError, OverflowError):
        return None


VALUES = {"epoch": 3, "batch": 17, "loss": 0.123456789, "val_loss": 2.5, "places": 1, "f1": [0.25, 0.5]}
TEMPLATES = ["plain", "{epoch}", "{epoch:02d}-{val_loss:.2f}.weights.npz", "a{{b}}c{{{epoch}}}", "{loss}", "{loss!r}", "{loss!s:>14}", "{loss!s:.4}", "{loss:.{places}f}", "{epoch:{batch}d}",
             "{f1}", "{f1[0]:.3f}", "{f1[1]}", "{f1:.2f}", "{missing}", "{", "}", "{}", "{epoch", "a}b", "{epoch:>{batch}}", "{epoch!x}", "{f1[2]}", "{{}}", "{loss!s:05}"]


def template(t):
    try:
        return t.format(**VALUES)
    except (ValueError, KeyError, IndexError, TypeError):
        return None


cases = [[plain(v), s, formatted(v, s)] for v in FLOATS + INTS for s in SPECS]
# A list of cases a line for each value keeps the file readable.
with gzip.GzipFile("format.json.gz", "wb", mtime=0) as z, io.TextIOWrapper(z, "utf-8") as f:
    f.write('{"templates": ' + json.dumps([[t, template(t)] for t in TEMPLATES]) + ',\n"values": ' + json.dumps(VALUES) + ',\n"cases": [\n')
    f.write(",\n".join(json.dumps(c) for c in cases))
    f.write("\n]}\n")
