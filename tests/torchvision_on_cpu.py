"""Import this before torchvision, or what imports it (transformers' models). The wheel's compiled operators want torch with CUDA; no
model here calls them, but torchvision's Python code registers with these two."""

import importlib.util

import torch

if importlib.util.find_spec("torchvision") and torch.version.cuda is None:
    for _name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{_name}", "(Tensor boxes, Tensor scores, float iou_threshold) -> Tensor")
