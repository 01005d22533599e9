#!/usr/bin/env python3
"""Training-step throughput of normbench against the same model in plain PyTorch eager, one thread, interleaved.

    python3 tools/throughput_vs_pytorch.py [--arms gpt_plus,ngpt,angpt] [--rounds 7] [--steps 30]

Each round times PyTorch, then normbench, then the next arm, so that a machine that slows down slows both. What is
compared is the ratio of the medians over the rounds. The cpu tier's shape: 4 layers, width 64, 2 heads, MLP 256,
vocabulary 1024, 16 sequences of 128 tokens; forward, backward, clipping at 1, AdamW, weight constraint.

PyTorch is needed for this comparison only: pip install torch==2.11.0 numpy, or set PYTHONPATH to a folder that has it.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"throughput_vs_pytorch.py: PyTorch cannot be imported ({error}).\n"
             "  to do: pip install torch==2.11.0 numpy, or set PYTHONPATH to a folder that has it")

D, L, H, FF, V, T, B = 64, 4, 2, 256, 1024, 128, 16
DH = D // H
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def norm(x):
    return F.normalize(x, dim=-1, eps=0.0)


class Rope(nn.Module):
    """Turns the first half of each head's entries, half-split pairs, base 10000."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(T).float(), 10000.0 ** (-torch.arange(0, DH // 2, 2) / (DH // 2)))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def forward(self, x):  # [B, H, T, DH]
        turned, rest = x.chunk(2, -1)
        a, b = turned.chunk(2, -1)
        return torch.cat([turned * self.cos + torch.cat([-b, a], -1) * self.sin, rest], -1)


class Scale(nn.Module):
    """A scale stored as s^ = s_scale and used as s^ * s_init / s_scale."""

    def __init__(self, size, init, scale):
        super().__init__()
        self.stored = nn.Parameter(torch.full((size,), float(scale)))
        self.factor = init / scale

    def forward(self):
        return self.stored * self.factor


class Block(nn.Module):
    def __init__(self, arm, rope):
        super().__init__()
        self.arm, self.rope = arm, rope
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)
        self.gate_up = nn.Linear(D, 2 * FF, bias=False)
        self.down = nn.Linear(FF, D, bias=False)
        s_scale = 0.01 if arm == "angpt" else D ** -0.5
        if arm == "gpt_plus":
            self.norm_a, self.norm_m = nn.RMSNorm(D, eps=1e-6), nn.RMSNorm(D, eps=1e-6)
        else:
            self.alpha_a, self.alpha_m = Scale(D, 0.05, s_scale), Scale(D, 0.05, s_scale)
        if arm == "ngpt":
            self.s_qk, self.s_u, self.s_z = Scale(D, 1, s_scale), Scale(FF, 1, 1), Scale(FF, 1, 1)
        else:
            self.g = nn.Parameter(torch.tensor(math.sqrt(DH)))

    def attention(self, x):
        if self.arm == "angpt":
            qkv = self.qkv(x) * math.sqrt(D / DH)
        else:
            qkv = self.qkv(x)
        q, k, v = (t.view(B, T, H, DH).transpose(1, 2) for t in qkv.chunk(3, -1))
        q, k = norm(self.rope(q)), norm(self.rope(k))
        if self.arm == "ngpt":
            s = self.s_qk().view(1, H, 1, DH)
            q, k, scale = q * s, k * s, math.sqrt(DH)
        else:
            q, scale = q * self.g, 1.0
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale)
        return self.proj(a.transpose(1, 2).reshape(B, T, D))

    def mlp(self, x):
        z, u = self.gate_up(x).chunk(2, -1)
        if self.arm == "ngpt":
            u, z = u * self.s_u(), z * (self.s_z() * math.sqrt(D))
        elif self.arm == "angpt":
            nu = math.sqrt(D / FF)
            u, z = u * nu, z * (nu * math.sqrt(D))
            return self.down(3.74 * u * F.silu(z)) * math.sqrt(FF / D)
        return self.down(u * F.silu(z))

    def forward(self, h):
        if self.arm == "gpt_plus":
            h = h + self.attention(self.norm_a(h))
            return h + self.mlp(self.norm_m(h))
        for alpha, branch in ((self.alpha_a(), self.attention), (self.alpha_m(), self.mlp)):
            b = branch(h)
            if self.arm == "ngpt":
                h = norm(h + alpha * (norm(b) - h))
            else:
                b = norm(b if branch == self.mlp else b * math.sqrt(DH / D))
                h = (alpha ** 2 + (1 - alpha) ** 2).rsqrt() * (h + alpha * (b - h))
        return h


class Model(nn.Module):
    def __init__(self, arm):
        super().__init__()
        self.arm = arm
        rope = Rope()
        self.embed = nn.Embedding(V, D)
        self.blocks = nn.ModuleList(Block(arm, rope) for _ in range(L))
        self.head = nn.Linear(D, V, bias=False)
        if arm == "gpt_plus":
            self.norm = nn.RMSNorm(D, eps=1e-6)
        else:
            self.s_z = Scale(V, 1, 0.01 if arm == "angpt" else D ** -0.5)
        with torch.no_grad():
            for p in self.parameters():
                if p.dim() == 2:
                    p.normal_(0, 0.64 / math.sqrt(D))
        self.constrain()

    def forward(self, tokens, targets):
        h = self.embed(tokens)
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.norm(h)) if self.arm == "gpt_plus" else self.head(h) * self.s_z()
        return F.cross_entropy(logits.view(-1, V), targets.view(-1))

    @torch.no_grad()
    def constrain(self):
        """nGPT: unit norm along D. anGPT: every row at most 1."""
        if self.arm == "gpt_plus":
            return
        for name, p in self.named_parameters():
            if p.dim() != 2:
                continue
            if self.arm == "angpt":
                p.div_(p.norm(dim=1, keepdim=True).clamp_(min=1.0))
            else:
                p.div_(p.norm(dim=0 if re.search(r"proj|down", name) else 1, keepdim=True))


class PyTorch:
    def __init__(self, arm):
        torch.manual_seed(0)
        self.model = Model(arm)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, betas=(0.9, 0.95), eps=1e-9,
                                           weight_decay=0.1 if arm == "gpt_plus" else 0.0)
        tokens = torch.randint(V, (B, T + 1))
        self.tokens, self.targets = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def step(self):
        loss = self.model(self.tokens, self.targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.model.constrain()
        return loss

    def tokens_per_second(self, steps):
        seconds = []
        for _ in range(steps):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return B * T / statistics.median(seconds)


def program(build):
    candidates = [build] if build else [os.path.join(ROOT, "build", name) for name in ("current", "cpu", "cuda")]
    for folder in candidates:
        path = os.path.join(folder, "bin", "normbench")
        if os.path.exists(path):
            return path
    sys.exit(f"throughput_vs_pytorch.py: normbench is not built (looked in {', '.join(candidates)}).\n"
             "  to do: ./run_all.sh test, or name the folder with --build")


def run_name(normbench, arm):
    """Any run of this arm at the cpu tier's shape: only its configuration is used, no data."""
    plan = subprocess.run([normbench, "plan", "--list", "--tier", "cpu", "--only", "angpt.convergence"], cwd=ROOT,
                          check=True, capture_output=True, text=True).stdout
    found = re.search(rf"\brun\.angpt\.convergence\.cpu\.gcide_1k\.{arm}\.\S+", plan)
    if not found:
        sys.exit(f"throughput_vs_pytorch.py: `normbench plan --list` has no run of arm {arm} at tier cpu")
    return found.group(0)


def normbench_tokens_per_second(normbench, name, steps):
    out = subprocess.run([normbench, "throughput", name, "--steps", str(steps)], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", default="gpt_plus,ngpt,angpt")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=30, help="timed steps in a round; the median counts")
    parser.add_argument("--build", help="build folder (default build/current)")
    parser.add_argument("--pytorch-only", action="store_true", help="time PyTorch alone")
    arguments = parser.parse_args()
    arms = arguments.arms.split(",")
    if unknown := set(arms) - {"gpt_plus", "ngpt", "angpt"}:
        parser.error(f"unknown arm {', '.join(sorted(unknown))}; expected gpt_plus, ngpt, angpt")
    torch.set_num_threads(1)

    normbench = None if arguments.pytorch_only else program(arguments.build)
    names = {arm: run_name(normbench, arm) for arm in arms} if normbench else {}
    rival = {arm: PyTorch(arm) for arm in arms}
    for arm in arms:  # warm up
        rival[arm].tokens_per_second(5)
    ours, theirs = {arm: [] for arm in arms}, {arm: [] for arm in arms}
    for _ in range(arguments.rounds):
        for arm in arms:
            theirs[arm].append(rival[arm].tokens_per_second(arguments.steps))
            if normbench:
                ours[arm].append(normbench_tokens_per_second(normbench, names[arm], arguments.steps))
    print(f"tokens/s, one thread, median of {arguments.rounds} interleaved rounds (smallest .. largest)")
    for arm in arms:
        line = f"{arm:10} PyTorch {torch.__version__} {spread(theirs[arm])}"
        if normbench:
            ratio = statistics.median(ours[arm]) / statistics.median(theirs[arm])
            line += f"   normbench {spread(ours[arm])}   ratio {ratio:.2f}"
        print(line)


def spread(values):
    return f"{statistics.median(values):8.0f} ({min(values):.0f} .. {max(values):.0f})"


if __name__ == "__main__":
    main()
