# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the trainings of the examples share: a loop that ends after a given time, files of pictures and of
weights.

The rate of learning follows the share of the time that has passed, up in a straight line and down along a cosine, so a
training of any length ends with small steps. What is saved is the running mean of the weights; no epoch is picked by what
it reaches on held-out data. Beside the weights stands their state, from which `--resume` goes on.
"""
import argparse
import gzip
import json
import math
import os
import struct
import time

import numpy as np
import torch

TYPES = {"F32": "<f4", "F16": "<f2"}


def read_idx(path):
    """An IDX file: two zero bytes, type 8 (u8), rank, big-endian sizes, data."""
    raw = gzip.open(path).read()
    rank = raw[3]
    sizes = struct.unpack(f">{rank}I", raw[4 : 4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(sizes)


def read_safetensors(path):
    """Tensors by name, in f32 whatever the file holds."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        stored = np.frombuffer(data[8 + size :][slice(*entry["data_offsets"])], TYPES[entry["dtype"]])
        tensors[name] = torch.from_numpy(stored.reshape(entry["shape"]).astype(np.float32))
    return tensors


def write_safetensors(path, tensors, dtype="F32"):
    """8 bytes of header length, JSON, data. The largest tensors stand first and the header is padded with spaces, so that
    every tensor but the small ones at the end is 64-byte aligned. The file appears whole or not at all."""
    arrays = {name: np.ascontiguousarray(value, TYPES[dtype]) for name, value in tensors.items()}
    order = sorted(arrays, key=lambda name: (-arrays[name].size, name))
    header, offset = {}, 0
    for name in order:
        end = offset + arrays[name].nbytes
        header[name] = {"dtype": dtype, "shape": list(arrays[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(arrays[name].tobytes())
    os.replace(path + ".part", path)


def arguments(description, out, **numbers):
    """The options that all trainings have, with their defaults: `minutes`, `rate`, `batch` and so on."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--out", default=out)
    parser.add_argument("--resume", action="store_true", help="go on from OUT.state, where there is one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-steps", type=int, help="only say how long so many steps take")
    for name, value in numbers.items():
        parser.add_argument("--" + name, type=type(value), default=value)
    return parser


class Trainer:
    """Trains `model` until `options.minutes` have passed, those before a `--resume` counted."""

    def __init__(self, model, options, decay=0.05, warmup=0.05, mean=0.998, dtype="F32"):
        torch.set_num_threads(options.threads)
        self.model, self.options, self.warmup, self.share, self.dtype = model, options, warmup, mean, dtype
        self.mean = {name: value.detach().clone() for name, value in model.state_dict().items()}
        parameters = list(model.parameters())
        self.optimiser = torch.optim.AdamW(
            [{"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
             {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0}], betas=(0.9, 0.98))
        self.seconds, self.step, self.epoch = 0.0, 0, 0
        state = options.out + ".state"
        if options.resume and os.path.exists(state):
            saved = torch.load(state)
            model.load_state_dict(saved["model"])
            self.optimiser.load_state_dict(saved["optimiser"])
            self.mean, self.seconds, self.step, self.epoch = (saved[k] for k in ("mean", "seconds", "step", "epoch"))

    def save(self):
        write_safetensors(self.options.out, {k: v.numpy() for k, v in self.mean.items()}, self.dtype)
        torch.save({"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(), "mean": self.mean,
                    "seconds": self.seconds, "step": self.step, "epoch": self.epoch}, self.options.out + ".state")

    def rate(self):
        passed = min(1, self.seconds / (60 * self.options.minutes))
        if passed < self.warmup:
            return passed / self.warmup + 1e-3
        return 0.01 + 0.99 * (1 + math.cos(math.pi * (passed - self.warmup) / (1 - self.warmup))) / 2

    def take(self, loss):
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * self.rate()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        with torch.no_grad():
            share = max(1 - self.share, 1 / (self.step + 1))
            for name, value in self.model.state_dict().items():
                self.mean[name].lerp_(value, share)

    def with_mean(self, measure):
        """What `measure(model)` gives for the running mean of the weights."""
        own = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.mean)
        self.model.eval()
        with torch.no_grad():
            result = measure(self.model)
        self.model.load_state_dict(own)
        return result

    def run(self, batches, loss, measure, last=None):
        """`batches(epoch)` gives what `loss(model, batch)` takes. After every epoch prints what `measure(model)` says of
        the mean, at the end what `last` does. The time of measuring does not count."""
        options = self.options
        print(f"{sum(p.numel() for p in self.model.parameters())} parameters;",
              ", ".join(f"{name} {value}" for name, value in sorted(vars(options).items()) if name != "time_steps"), flush=True)
        limit = 60 * options.minutes
        while self.seconds < limit:
            self.epoch += 1
            torch.manual_seed(options.seed + 1000 * self.epoch)
            self.model.train()
            losses, before, start, first = [], self.seconds, time.time(), self.step
            for batch in batches(self.epoch):
                value = loss(self.model, batch)
                self.take(value)
                losses.append(value.item())
                self.seconds = before + time.time() - start
                if options.time_steps and self.step - first == options.time_steps:
                    print(f"{self.seconds / options.time_steps * 1000:.0f} ms a step, loss {np.mean(losses):.4f}")
                    return
                if self.seconds >= limit:
                    break
            self.save()
            print(f"epoch {self.epoch:2d}: {self.step} steps, loss {np.mean(losses):.4f}, {self.with_mean(measure)},",
                  f"{self.seconds:.0f} s", flush=True)
        if last:
            print(self.with_mean(last), flush=True)
