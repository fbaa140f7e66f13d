"""Prints what TensorBoard's reader finds in a folder of event files, as JSON.

    python read_events.py FOLDER
"""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.graph import keras_util
from tensorboard.util import tensor_util

events = EventAccumulator(sys.argv[1], size_guidance={"tensors": 0})
events.Reload()
out = {"Scalars": {}, "Histograms": {}, "Images": {}, "Graph": [], "Operations": {}, "Shapes": {}}
for plugin in ("scalars", "histograms", "images", "graph_keras_model"):
    try:
        tags = events.PluginTagToContent(plugin)
    except KeyError:
        continue
    for tag in tags:
        found = events.Tensors(tag)
        arrays = [tensor_util.make_ndarray(e.tensor_proto) for e in found]
        if plugin == "scalars":
            out["Scalars"][tag] = [[e.step, float(a)] for e, a in zip(found, arrays)]
        elif plugin == "histograms":
            out["Histograms"][tag] = int(arrays[-1][:, 2].sum())
        elif plugin == "images":
            out["Images"][tag] = [int(arrays[-1][0]), int(arrays[-1][1])]
        else:
            graph = keras_util.keras_model_to_graph_def(json.loads(arrays[0].item()))
            out["Graph"] = [n.name for n in graph.node]
for n in events.Graph().node:
    out["Operations"][n.name] = list(n.input)
    shapes = n.attr["_output_shapes"].list.shape
    if shapes:
        out["Shapes"][n.name] = [d.size for d in shapes[0].dim]
print(json.dumps(out))
