"""keras.utils.bounding_boxes, and what image layers do to boxes and segmentation masks.

Run: KERAS_BACKEND=jax python gen/bounding_boxes.py <output directory>
Versions: see common.py.

A case holds either
  extra    function: the name; arguments: those that are no arrays
  inputs   the arrays by the names of the arguments
  outputs  "output", and "labels" of clip_to_image_size
or a layer with
  inputs   "x": images of zeros, whose shape alone counts; "boxes", "box_labels", "masks"; "t/<key>" as in augmentation.py
  outputs  "boxes", "box_labels", "masks"
where Keras agrees with itself: RandomCrop with equal starts and boxes that end inside the piece, RandomRotation and RandomPerspective
with the format "xyxy", RandomShear of square images along one axis, MixUp without its labels of boxes, RandAugment with one step.
"""

import numpy as np

import common
import keras
from keras import layers as K

B = keras.utils.bounding_boxes
FORMATS = ["xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw", "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"]
XYXY = np.array([[[1, 2, 4, 6], [0, 0, 12, 8], [3.5, 1.25, 9, 7.5], [7, 5, 11.5, 6]], [[2, 3, 8, 8], [10, 1, 12, 7], [5, 5, 5, 5], [0, 2, 3, 4]]], "float32")
LABELS = np.array([[1, 0, 2, 3], [4, 2, -1, 0]], "int32")
HEIGHT, WIDTH = 8, 12


def functions(w):
    def case(label, name, arrays, arguments, keep=lambda y: y):
        y = getattr(B, name)(**{k: keras.ops.convert_to_tensor(v) for k, v in arrays.items()}, **arguments)
        w.case(f"{name}/{label}", inputs=arrays, outputs={"output": keep(y)}, extra={"function": name, "arguments": arguments}, rtol=1e-5, atol=1e-5)

    size = {"height": HEIGHT, "width": WIDTH}
    given = {f: np.asarray(B.convert_format(XYXY, "xyxy", f, **size)) for f in FORMATS}
    for source in FORMATS:
        for target in FORMATS:
            case(f"{source},{target}", "convert_format", {"boxes": given[source]}, {"source": source, "target": target, **size})
    case("int", "convert_format", {"boxes": np.array([[1, 2, 4, 6]], "int32")}, {"source": "XYWH", "target": "Center_XYWH"})
    wide = np.array([[-3, -2, 5, 6], [10, 6, 20, 15], [13, 1, 15, 4], [2, 3, 4, 5], [3, 3, 3, 6]], "float32")
    for f, boxes, size_of in (("xyxy", wide, size), ("rel_xyxy", np.asarray(B.convert_format(wide, "xyxy", "rel_xyxy", **size)), {})):
        labels = np.array([4, 3, 2, 1, 0], "int32")
        y = B.clip_to_image_size({"boxes": keras.ops.convert_to_tensor(boxes), "labels": keras.ops.convert_to_tensor(labels)}, bounding_box_format=f, **size_of)
        w.case(f"clip_to_image_size/{f}", inputs={"boxes": boxes, "labels": labels}, outputs={"output": y["boxes"], "labels": y["labels"]},
               extra={"function": "clip_to_image_size", "arguments": {"bounding_box_format": f, **size_of}})
    case("", "crop", {"boxes": wide}, {"top": 1, "left": 3, "height": 5, "width": 6})
    case("", "pad", {"boxes": wide}, {"top": 1, "left": 3})
    zeros = np.zeros(2, "float32")
    plain = dict(angle=zeros, translate_x=zeros, translate_y=zeros, scale=zeros + 1, shear_x=zeros, shear_y=zeros)
    for label, change, more in (
        ("angle", {"angle": [30, -75]}, {}), ("translate", {"translate_x": [0.25, -0.1], "translate_y": [0.5, 0.125]}, {}), ("scale", {"scale": [0.5, 1.75]}, {}),
        ("shear", {"shear_x": [20, -10], "shear_y": [5, 15]}, {}), ("all", {"angle": [10, 100], "translate_x": [0.1, 0], "scale": [1.25, 0.75], "shear_y": [-20, 3]}, {}),
        ("centre", {"angle": [45, 200]}, {"center_x": 0.25, "center_y": 1.0}),
    ):
        case(label, "affine_transform", {"boxes": XYXY, **plain, **{k: np.array(v, "float32") for k, v in change.items()}}, {**size, **more})
    one, other = XYXY[0], XYXY[1] + np.float32(0.5)
    for f in ("xyxy", "center_yxhw", "rel_xywh"):
        shape = {"image_shape": [HEIGHT, WIDTH, 3]}
        a, b = (np.asarray(B.convert_format(v, "xyxy", f, **size)) for v in (XYXY, XYXY[::-1, :3] + 1))
        case(f, "compute_iou", {"boxes1": a, "boxes2": b}, {"bounding_box_format": f, **shape})
        case(f + ",unbatched", "compute_iou", {"boxes1": a[0], "boxes2": b[1]}, {"bounding_box_format": f, **shape})
        case(f + ",first", "compute_iou", {"boxes1": a, "boxes2": b[1]}, {"bounding_box_format": f, **shape})
        case(f + ",second", "compute_iou", {"boxes1": a[0], "boxes2": b}, {"bounding_box_format": f, **shape})
    filled = np.concatenate([one[:2], -np.ones((1, 4), "float32")])
    case("masked", "compute_iou", {"boxes1": filled, "boxes2": filled[::-1].copy()}, {"bounding_box_format": "xyxy", "use_masking": True, "mask_val": -7})
    for f in ("xyxy", "yxyx", "center_xywh"):
        a, b = (np.asarray(B.convert_format(v, "xyxy", f)) for v in (one, other))
        case(f, "compute_ciou", {"boxes1": a, "boxes2": b}, {"bounding_box_format": f})
    anchors = np.array([[0, 0, 4, 4], [2, 2, 10, 6], [1, 1, 9, 8], [6, 4, 12, 8]], "float32")
    for encoding in ("center_xywh", "center_yxhw"):
        for variance in (None, [0.1, 0.1, 0.2, 0.25]):
            common_arguments = {"anchor_format": "xyxy", "variance": variance, "image_shape": [HEIGHT, WIDTH, 3]}
            for f in ("xywh", "rel_yxyx"):
                label = f"{encoding},{f},{variance is None}"
                boxes = np.asarray(B.convert_format(XYXY, "xyxy", f, **size))
                case(label, "encode_box_to_deltas", {"anchors": anchors, "boxes": boxes}, {**common_arguments, "box_format": f, "encoding_format": encoding})
                deltas = np.round(common.rng("deltas", label).normal(size=(2, 4, 4)) * 0.5, 3).astype("float32")
                case(label, "decode_deltas_to_boxes", {"anchors": anchors, "boxes_delta": deltas}, {**common_arguments, "box_format": f, "encoded_format": encoding})


def layers(w):
    masks = common.rng("masks").integers(0, 5, (2, HEIGHT, WIDTH, 1)).astype("uint8")

    def case(label, layer, t, keras_t, boxes=XYXY, labels=LABELS, masks=masks, height=HEIGHT, width=WIDTH, keep_labels=True):
        shape = (len(boxes), height, width, 3)
        shape = shape if layer.data_format == "channels_last" else (shape[0], 3, height, width)
        given = boxes if layer.bounding_box_format == "xyxy" else np.asarray(B.convert_format(boxes, "xyxy", layer.bounding_box_format, height=height, width=width))
        name, config = common.object_config(layer)
        tensor = keras.ops.convert_to_tensor
        moved = layer.transform_bounding_boxes({"boxes": tensor(given), "labels": tensor(labels)}, keras_t(shape), training=True)
        inputs, outputs = {"x": np.zeros(shape, "uint8"), "boxes": given, "box_labels": labels}, {"boxes": moved["boxes"]}
        if keep_labels:
            outputs["box_labels"] = moved["labels"]
        if masks is not None:
            masks = masks if layer.data_format == "channels_last" else masks.transpose(0, 3, 1, 2)
            inputs["masks"] = masks
            outputs["masks"] = layer.transform_segmentation_masks(tensor(masks), keras_t(shape), training=True)
        inputs.update({f"t/{k}": v for k, v in t.items()})
        w.case(f"{name}/{label}", name, config, "float32", inputs, outputs, extra={"training": True}, rtol=1e-5, atol=2e-5)

    f32 = lambda *v: np.array(v, "float32")
    flips = {"flips": np.array([True, False])}
    reshaped = lambda shape: {"flips": keras.ops.convert_to_tensor(flips["flips"].reshape(2, 1, 1, 1)), "input_shape": shape}
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        for f in FORMATS:
            case(f"{mode},{f}", K.RandomFlip(mode, bounding_box_format=f), flips, reshaped)
    case("channels_first", K.RandomFlip("vertical", bounding_box_format="xywh", data_format="channels_first"), flips, reshaped)
    starts = {"h_start": np.array(2, "int32"), "w_start": np.array(2, "int32")}
    inner = np.array([[[1, 2, 4, 6], [3, 3, 8, 5]], [[2, 2, 5.5, 4], [4, 2, 7, 6]]], "float32")
    for f in ("xyxy", "xywh", "center_yxhw"):
        case(f, K.RandomCrop(5, 7, bounding_box_format=f), starts, lambda shape: (2, 2), boxes=inner, labels=LABELS[:, :2])
    for f in FORMATS:
        case(f"cut,{f}", K.CenterCrop(4, 7, bounding_box_format=f), {}, lambda shape: {"input_shape": shape})
        case(f"enlarged,{f}", K.CenterCrop(10, 6, bounding_box_format=f), {}, lambda shape: {"input_shape": shape}, masks=None)
        case(f, K.Resizing(5, 9, bounding_box_format=f), {}, lambda shape: (HEIGHT, WIDTH))
        case(f"pad,{f}", K.Resizing(5, 9, pad_to_aspect_ratio=True, bounding_box_format=f), {}, lambda shape: (HEIGHT, WIDTH), masks=None)
        case(f"crop,{f}", K.Resizing(10, 9, crop_to_aspect_ratio=True, bounding_box_format=f), {}, lambda shape: (HEIGHT, WIDTH))
    fillers = np.array([[[0, 0, 0, 0], [1, 1, 3, 3]], [[-1, -1, -1, -1], [-1, -1, -1, 3]]], "float32")
    case("fillers", K.Resizing(16, 6, bounding_box_format="xyxy"), {}, lambda shape: (HEIGHT, WIDTH), boxes=fillers, labels=LABELS[:, :2])
    t = {"translations": f32(2.5, -1.25, -4, 3).reshape(2, 2)}
    for f in FORMATS:
        case(f, K.RandomTranslation(0.5, 0.5, bounding_box_format=f), t, lambda shape: {**t, "input_shape": shape})
    z = {"height_zoom": f32(0.75, 1.5).reshape(2, 1), "width_zoom": f32(1.25, 0.625).reshape(2, 1)}
    for f in FORMATS:
        case(f, K.RandomZoom(0.5, 0.5, bounding_box_format=f, fill_mode="constant"), z, lambda shape: {**z, "input_shape": shape})
    for n, angles in enumerate(([30, -75], [90, 180], [-10, 260])):
        a = {"angle": f32(*angles)}
        layer = K.RandomRotation(0.5, bounding_box_format="xyxy", fill_mode="wrap")

        def rotation(shape):
            zeros = np.zeros(2, "float32")
            return {**a, "image_height": HEIGHT, "image_width": WIDTH, "batch_size": 2, "rotation_matrix": layer._compute_affine_matrix(
                center_x=0.5, center_y=0.5, angle=keras.ops.convert_to_tensor(a["angle"]), translate_x=zeros, translate_y=zeros, scale=zeros + 1, shear_x=zeros, shear_y=zeros,
                height=HEIGHT, width=WIDTH)}

        case(f"{n}", layer, a, rotation)
    square = common.rng("square").integers(0, 5, (2, WIDTH, WIDTH, 1)).astype("uint8")
    for f in FORMATS:
        for label, v in (("x", f32(0.4, 0, -0.3, 0)), ("y", f32(0, 0.25, 0, -0.5))):
            s = {"shear_factor": v.reshape(2, 2)}
            case(f"{label},{f}", K.RandomShear(0.5, 0.5, bounding_box_format=f), s, lambda shape: {**s, "input_shape": shape}, masks=square, height=WIDTH)
    start = np.array([[0, 0], [WIDTH - 1, 0], [0, HEIGHT - 1], [WIDTH - 1, HEIGHT - 1]], "float32") + np.zeros((2, 1, 1), "float32")
    end = np.round(start * (1 + common.rng("corners").uniform(-0.3, 0.3, start.shape)), 3).astype("float32")
    for apply in ([True, True], [False, True]):
        p = {"apply_perspective": np.array(apply), "start_points": start, "end_points": end}
        case(f"{apply[0]}", K.RandomPerspective(1.0, bounding_box_format="xyxy"), p, lambda shape: {**p, "input_shape": shape})
    m = {"mix_weight": f32(0.3, 0.875), "permutation_order": np.array([1, 0], "int32")}
    case("", K.MixUp(bounding_box_format="xyxy"), m, lambda shape: m, masks=None, keep_labels=False)
    for number, fill in ((2, -1), (4, -1), (6, -1)):
        case(f"{number}", K.MaxNumBoundingBoxes(number, bounding_box_format="xyxy"), {}, lambda shape: None)


def main():
    w = common.Writer("bounding_boxes", __file__)
    functions(w)
    layers(w)
    w.write(common.out_dir())


common.run(main, dtypes=("float32",))
