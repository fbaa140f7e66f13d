"""torch for the program in ../shapes: one layer or model for each line {"spec": {...}, "train": bool, "secs": S} of the input, answered with
{"seconds": of one step, the best of several samples}. The specs are described in ../shapes/cases.go; images are channels-last."""
import json, os, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def channels_last(x):
    if x.ndim == 4:
        return x.to(memory_format=torch.channels_last)
    return x.to(memory_format=torch.channels_last_3d) if x.ndim == 5 else x


def layer(s, c):
    """A module on inputs with the channels in axis 1, as torch has them; c is their number."""
    kind, k, axes = s["kind"], s.get("kernel"), len(s["input"]) - 2
    if s.get("padding"):
        return any_layer(s, c, axes)
    if kind in OPTIONS:
        return OPTIONS[kind](s)
    stride, dilation = s.get("stride", 1), s.get("dilation") or 1
    around = dilation * (k - 1) if k else 0
    if kind in ("conv", "depthwise"):
        filters, groups = (s["filters"], s["groups"]) if kind == "conv" else (c * (s.get("filters") or 1), c)
        pad = around // 2 if stride > 1 or around % 2 == 0 else "same"
        return (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1](c, filters, k, stride, pad, dilation, groups)
    if kind == "separable":
        pad = "same" if stride == 1 else around // 2
        return nn.Sequential(nn.Conv2d(c, c, k, stride, pad, groups=c, bias=False), nn.Conv2d(c, s["filters"], 1))
    if kind in RECURRENT:
        return Sequences(s)
    if kind == "convlstm":
        return ConvLSTM(c, s["filters"], k)
    if kind == "einsumdense":
        return nn.Sequential(nn.Linear(c, s["heads"] * s["filters"]), nn.Unflatten(-1, (s["heads"], s["filters"])))
    if kind in ("mha", "gqa"):
        return Heads(s)
    if kind == "transpose":
        low = (max(k - stride, 0) + 1) // 2
        return (nn.ConvTranspose1d, nn.ConvTranspose2d)[axes - 1](c, s["filters"], k, stride, low, output_padding=stride - k + 2 * low)
    if kind == "dense":
        return nn.Linear(c, s["filters"])
    if kind == "groupnorm":
        return nn.GroupNorm(s["groups"], c, eps=1e-3)
    if kind == "batchnorm":
        return nn.BatchNorm2d(c, eps=1e-3)
    if kind == "layernorm":
        return nn.LayerNorm(c, eps=1e-3)
    if kind == "maxpool":
        return nn.MaxPool2d(k, stride, (k - 1) // 2)
    if kind == "avgpool":
        return nn.AvgPool2d(k, stride)
    if kind == "upsampling":
        return nn.Upsample(scale_factor=stride, mode="bilinear" if s.get("bilinear") else "nearest")
    if kind == "globalpool":
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Softmax(-1)


def any_layer(s, c, axes):
    """The layers of ../shapes/every.go. torch pads both ends alike: half of what a window needs, at each."""
    kind, w, filters = s["kind"], s.get("windows"), s.get("filters") or 1
    strides, dilations = s.get("strides"), s.get("dilations") or [1] * axes
    of = lambda name: getattr(nn, f"{name}{axes}d")
    if kind.startswith("global"):
        return nn.Sequential(of("AdaptiveMaxPool" if kind == "globalmax" else "AdaptiveAvgPool")(1), nn.Flatten())
    if kind.startswith("adaptive"):
        return of("AdaptiveMaxPool" if kind == "adaptivemax" else "AdaptiveAvgPool")(tuple(w))
    if kind == "upsampling":
        return nn.Upsample(scale_factor=tuple(map(float, w)), mode="bilinear" if s.get("bilinear") else "nearest")
    around = [d * (k - 1) for k, d in zip(w, dilations)]
    pad = [a // 2 for a in around] if s["padding"] == "same" else [0] * axes
    if kind == "conv" and s["padding"] == "causal":
        return nn.Sequential(nn.ConstantPad1d((around[0], 0), 0.0), of("Conv")(c, filters, w, strides, 0, dilations, s["groups"]))
    if kind == "conv":
        return of("Conv")(c, filters, w, strides, pad, dilations, s["groups"])
    if kind == "depthwise":
        return of("Conv")(c, c * filters, w, strides, pad, dilations, c)
    if kind == "separable":
        return nn.Sequential(of("Conv")(c, c, w, strides, pad, dilations, c, bias=False), of("Conv")(c, filters, 1))
    if kind == "transpose":
        pad = [max(d * (k - 1) + 1 - t, 0) // 2 for k, t, d in zip(w, strides, dilations)] if s["padding"] == "same" else 0
        return of("ConvTranspose")(c, filters, w, strides, pad, s.get("sizes", 0), dilation=dilations)
    pad = [min(p, k // 2) for p, k in zip(pad, w)]
    return of("MaxPool")(w, strides, pad) if kind == "maxpool" else of("AvgPool")(w, strides, pad, count_include_pad=False)


RECURRENT = {"lstm": nn.LSTM, "gru": nn.GRU, "simplernn": nn.RNN, "bidirectional": nn.LSTM}


class Sequences(nn.Module):
    def __init__(self, s):
        super().__init__()
        batch, steps, inputs = s["input"]
        self.cells = RECURRENT[s["kind"]](inputs, s["filters"], batch_first=True, bidirectional=s["kind"] == "bidirectional")
        self.backwards, self.last, self.dropout = s.get("backwards"), s.get("last"), s.get("dropout", 0)
        self.lengths = steps - torch.arange(batch) * steps // (2 * batch) if s.get("masked") else None

    def forward(self, x):
        if self.backwards:
            x = x.flip(1)
        if self.dropout and self.training:
            x = x * F.dropout(torch.ones(x.shape[0], 1, x.shape[2]), self.dropout)
        if self.lengths is not None:
            x = nn.utils.rnn.pack_padded_sequence(x, self.lengths, batch_first=True)
        y, h = self.cells(x)
        if self.last:
            h = h[0] if isinstance(h, tuple) else h
            return torch.cat(tuple(h), 1)
        return y if self.lengths is None else nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0]


class AxisBatchNorm(nn.BatchNorm1d):
    """Batch normalization of the given axis, whose numbers have a mean each."""

    def __init__(self, s):
        super().__init__(s["input"][s["axes"][0]], eps=1e-3)
        self.axis = s["axes"][0]

    def _check_input_dim(self, x):
        pass

    def forward(self, x):
        return x if x.ndim < 2 else super().forward(x.movedim(self.axis, 1)).movedim(1, self.axis)


class Additive(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(s["input"][2]))

    def forward(self, x):
        return (torch.tanh(x[:, :, None] + x[:, None]) * self.scale).sum(-1).softmax(-1) @ x


class Call(nn.Module):
    """A function of arrays that have their axes in Keras's order."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


def edges(s):
    pairs = list(zip(s["sizes"][::2], s["sizes"][1::2]))
    if s["kind"] == "crop":
        at = (slice(None), *(slice(a, n - b) for (a, b), n in zip(pairs, s["input"][1:])))
        return Call(lambda x: x[at].contiguous())
    pad = [0, 0] + [n for pair in reversed(pairs) for n in pair]
    return Call(lambda x: F.pad(x, pad))


def resizing(s):
    mode = {"nearest": "nearest-exact"}.get(s["mode"], s["mode"])
    return Call(lambda x: F.interpolate(x, s["sizes"], mode=mode, antialias=s.get("antialias", False)))


# The layers of ../shapes/options.go; those in MOVED take images with their channels in axis 1.
MOVED = ("resizing", "spatialdropout", "prelu")
OPTIONS = {
    "additive": Additive,
    "axisbatchnorm": AxisBatchNorm,
    "axeslayernorm": lambda s: nn.LayerNorm([s["input"][i] for i in s["axes"]], eps=1e-3),
    "firstgroupnorm": lambda s: nn.GroupNorm(s["groups"], s["input"][1], eps=1e-3),
    "rms": lambda s: nn.RMSNorm(s["input"][-1], eps=1e-6),
    "unit": lambda s: Call(lambda x: F.normalize(x, dim=-1)),
    "lookup": lambda s: nn.Embedding(s["rows"], s["filters"]),
    "resizing": resizing,
    "zeros": edges,
    "crop": edges,
    "permute": lambda s: Call(lambda x: x.permute(0, *s["axes"]).contiguous()),
    "repeat": lambda s: Call(lambda x: x.unsqueeze(1).repeat(1, s["steps"], 1)),
    "dropout": lambda s: nn.Dropout(s["dropout"]),
    "spatialdropout": lambda s: nn.Dropout2d(s["dropout"]),
    "prelu": lambda s: nn.PReLU(s["input"][-1]),
}


class ConvLSTM(nn.Module):
    """Takes (batch, steps, channels, rows, columns), as ConvLSTM2D of Keras with padding "same"."""

    def __init__(self, inputs, filters, k):
        super().__init__()
        self.of_input = nn.Conv2d(inputs, 4 * filters, k, padding="same")
        self.of_state = nn.Conv2d(filters, 4 * filters, k, padding="same", bias=False)

    def forward(self, x):
        batch, steps = x.shape[:2]
        all_ = self.of_input(channels_last(x.flatten(0, 1))).unflatten(0, (batch, steps))
        h = c = None
        out = []
        for step in range(steps):
            z = all_[:, step]
            if h is not None:
                z = z + self.of_state(h)
            i, f, g, o = z.chunk(4, 1)
            new = torch.sigmoid(i) * torch.tanh(g)
            c = new if c is None else torch.sigmoid(f) * c + new
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out, 1)


class Heads(nn.Module):
    """Attention of a sequence over itself; keys at the ends of sequences are hidden as in ../shapes/compound.go."""

    def __init__(self, s):
        super().__init__()
        (batch, steps, c), self.heads, self.size = s["input"], s["heads"], s["filters"]
        self.shared, self.causal, self.mask = s["shared"], s.get("causal", False), None
        width, narrow = self.heads * self.size, self.heads // self.shared * self.size
        self.q, self.k, self.v, self.out = nn.Linear(c, width), nn.Linear(c, narrow), nn.Linear(c, narrow), nn.Linear(width, c)
        if s.get("masked"):
            keys = s.get("steps") or steps
            ends = keys - torch.arange(batch) * keys // (2 * batch)
            self.mask = (torch.arange(keys) < ends[:, None])[:, None, None]
            if self.causal:
                self.mask = self.mask & torch.ones(steps, steps, dtype=torch.bool).tril()

    def forward(self, x, value=None):
        value = x if value is None else value
        q, k, v = (f(z).unflatten(-1, (-1, self.size)).transpose(1, 2) for f, z in ((self.q, x), (self.k, value), (self.v, value)))
        y = F.scaled_dot_product_attention(q, k, v, self.mask, is_causal=self.causal and self.mask is None, enable_gqa=self.shared > 1)
        return self.out(y.transpose(1, 2).flatten(2))


class Bag(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.table, self.head = nn.Embedding(s["rows"], s["filters"]), nn.Linear(s["filters"], 10)

    def forward(self, x):
        return self.head(self.table(x).mean(1))


def model(s):
    if s["kind"] == "mlp":
        list_, width = [], s["input"][1]
        for i, n in enumerate(s["widths"]):
            list_ += [nn.Linear(width, n)] + ([nn.ReLU()] if i < len(s["widths"]) - 1 else [])
            width = n
        return nn.Sequential(*list_)
    if s["kind"] == "cnn":
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(5408, 64), nn.ReLU(), nn.Linear(64, 10))
    return Bag(s)


def model_job(s, train, dtype):
    m = model(s).to(dtype)
    n = s["input"][0]
    if s["kind"] == "embedding":
        x, opt = torch.randint(0, s["rows"], s["input"]), torch.optim.Adam(m.parameters(), 1e-3, fused=True)
    else:
        x, opt = torch.randn(n, *s["input"][1:], dtype=dtype), torch.optim.SGD(m.parameters(), 0.01)
    if s["kind"] == "cnn":
        m, x = m.to(memory_format=torch.channels_last), channels_last(x.permute(0, 3, 1, 2))
    labels = torch.arange(n) * 7 % 10
    if not train:
        return lambda: m(x)

    def step():
        opt.zero_grad(set_to_none=True)
        F.cross_entropy(m(x), labels).backward()
        opt.step()
    return step


def layer_job(s, train, dtype):
    kind, shape = s["kind"], s["input"]
    if kind == "attention":
        xs = [torch.randn(shape, dtype=dtype).transpose(1, 2).requires_grad_(train) for _ in range(3)]
        f, weights = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=s.get("causal", False)), []
    elif kind == "lookup":
        f, xs = layer(s, 0).to(dtype), []
        table, weights = f, list(f.parameters())
        f = lambda x=torch.randint(0, s["rows"], shape): table(x)
    elif kind in OPTIONS and kind not in MOVED:
        f = layer(s, shape[-1]).to(dtype)
        f.train(train)
        xs, weights = [torch.randn(shape, dtype=dtype).requires_grad_(train)], list(f.parameters())
    else:
        if kind == "convlstm":
            shape = [*shape[:2], shape[-1], *shape[2:-1]]
        elif s.get("first"):
            pass
        elif len(shape) > 2 and kind not in RECURRENT and kind not in ("einsumdense", "mha", "gqa"):
            shape = [shape[0], shape[-1], *shape[1:-1]]
        f = layer(s, s["input"][1 if s.get("first") else -1]).to(dtype)
        if not s.get("first"):
            f = channels_last_module(f)
        f.train(train)
        x = torch.randn(shape, dtype=dtype)
        xs, weights = [(x if kind == "convlstm" or s.get("first") else channels_last(x)).requires_grad_(train)], list(f.parameters())
        if kind in ("mha", "gqa") and s.get("steps"):
            xs.append(torch.randn(shape[0], s["steps"], shape[2], dtype=dtype).requires_grad_(train))
    if not train:
        if kind in ("dropout", "spatialdropout"):
            raise ValueError("nothing is dropped")
        return lambda: f(*xs)
    dy = torch.randn_like(f(*xs))
    return lambda: torch.autograd.grad(f(*xs), xs + weights, dy)


def channels_last_module(m):
    dims = max([p.ndim for p in m.parameters()], default=0)
    return m.to(memory_format={4: torch.channels_last, 5: torch.channels_last_3d}.get(dims, torch.preserve_format))


def measure(step, secs):
    step(), step()
    best, end = float("inf"), time.perf_counter() + secs
    n = 1
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    while time.perf_counter() < end:
        begin = clock()
        for _ in range(n):
            step()
        t = max((clock() - begin) / n, 1e-9)
        best, n = min(best, t), max(1, int(0.01 / t))
    return best


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_threads(int(sys.argv[1]))
    torch.set_flush_denormal(True)
    for line in sys.stdin:
        r = json.loads(line)
        s, train = r["spec"], r["train"]
        dtype = torch.float64 if s.get("double") else torch.float32
        try:
            with torch.set_grad_enabled(train):
                job = (model_job if s["kind"] in ("mlp", "cnn", "embedding") else layer_job)(s, train, dtype)
                answer = {"seconds": measure(job, r["secs"])}
        except Exception as e:
            answer = {"error": repr(e)[:300]}
        out.write(json.dumps(answer) + "\n")
        out.flush()


main()
