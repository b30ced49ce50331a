# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests that share steps, in random schedules, against each one alone: the same tokens. Usage: schedule.py SCHEDULES"""
import sys

import attn
import numpy as np

count = int(sys.argv[1])
SPEC = """attn 1
model Tiny {
  dim V = 97, D = 32, H = 2, E = D / H
  dyn B <= 8
  cache kv capacity 96
  embedding tokens: V -> D
  stack layers: 2 of Layer
  rmsnorm norm: D
  linear head: D -> V
  block Layer[T](x: [B, T, D], kv: cache) -> [B, T, D] {
    rmsnorm before, after: D
    linear q, k, v: D -> H, E
    linear out: H, E -> D
    linear up: D -> 64
    linear down: 64 -> D
    let n = before(x)
    let y = x + out(attend rotary(q(n), T, half) over kv.push(rotary(k(n), T, half), v(n)) along T as S { mask causal })
    return y + down(silu(up(after(y))))
  }
  forward[T](ids: i32[B, T], kv: cache) -> [B, T, V] = head(norm(layers(tokens(ids), kv)))
  entry scores = forward
  entry prefill = forward last T
  entry decode = forward[T: 1] last T
  entry generate = unfold(prefill, decode, token = ids, limit = 64, stop = 5)
  entry serve = forward by B last T
}
"""
model = attn.compile(SPEC, weights="random:3")
rng = np.random.default_rng(7)
VOCABULARY, CAPACITY = 97, 96
beginnings = [rng.integers(0, VOCABULARY, 40).tolist() for _ in range(3)]


def random_request():
    prompt = beginnings[rng.integers(3)][:int(rng.integers(1, 41))] + rng.integers(0, VOCABULARY, int(rng.integers(0, 20))).tolist()
    options = {"limit": int(rng.integers(1, 62)), "priority": int(rng.integers(0, 2))}
    if rng.random() < 0.6:
        options |= {"temperature": 1.3, "seed": int(rng.integers(1000))}
        options |= [{}, {"top_k": 9}, {"top_p": 0.8}, {"repetition": 1.2}, {"no_repeat": 2}][rng.integers(5)]
    return prompt, options


def alone(prompt, options):
    """By another entry, one token a call."""
    numbers = {name: value for name, value in options.items() if name != "priority"}
    numbers["limit"] = min(numbers["limit"], CAPACITY - len(prompt) + 1)
    ids, counts = model.generate.generate(np.array([prompt], np.int32), **numbers)
    return ids[0, :counts[0]].tolist()


kinds = dict.fromkeys(("kept", "preempted", "cancelled", "stopped", "token", "limit", "context", "pieces"), 0)
for schedule in range(count):
    threads, rows = (1, 2, 5)[schedule % 3], int(rng.integers(1, 9))
    scheduler = attn.Scheduler(model, threads=threads, rows=rows, step_tokens=int(rng.integers(1, 30)),
                               read_tokens=int(rng.integers(1, 60)), memory=int(rng.choice([200_000, 400_000, 10_000_000])))
    live, busy = [], True
    left = int(rng.integers(4, 16))
    while busy or left:
        while left and rng.random() < 0.5:
            left -= 1
            prompt, options = random_request()
            ends_at = int(rng.integers(1, 8)) if rng.random() < 0.15 else None
            seen = []
            request = scheduler.submit(prompt, on_token=lambda token, seen=seen, at=ends_at: seen.append(token) or len(seen) != at, **options)
            live.append((request, prompt, options, seen, ends_at))
        busy = scheduler.step()
        if live and rng.random() < 0.04:
            scheduler.cancel(live[int(rng.integers(len(live)))][0])
            busy = True
    for request, prompt, options, seen, ends_at in live:
        assert request.is_done and seen == request.tokens
        expected = alone(prompt, options)
        if request.ending == "caller":
            expected = expected[:len(seen)]
            kinds["stopped" if len(seen) == ends_at else "cancelled"] += 1
        else:
            kinds[request.ending] += 1
        assert seen == expected, (prompt, options, seen, expected, request.ending)
        kinds["kept"] += request.kept > 0
        kinds["preempted"] += request.preempted > 0
        kinds["pieces"] += 0 < request.read < len(prompt)
    counts = scheduler.counts
    assert counts["ended"] == len(live) and counts["waiting"] == counts["running"] == 0, counts
    assert counts["writtenTokens"] == sum(len(request.tokens) for request, *_ in live)
    scheduler.close()
print(f"{count} schedules: the same tokens; {kinds}")
assert count < 40 or all(kinds.values()), kinds

# Urgent requests take the rows of others, each of them.
scheduler, order = attn.Scheduler(model, rows=2), []
slow = [scheduler.submit([i, 2, 3], limit=40, stops=[], on_end=order.append) for i in (10, 20)]
for _ in range(5):
    scheduler.step()
urgent = []
for i in (30, 40):
    urgent.append(scheduler.submit([i, 2, 3], limit=20, stops=[], priority=1, on_end=order.append))
    scheduler.step()
while scheduler.step():
    pass
assert order[:2] == urgent and all(request.preempted > 0 for request in slow), ([request.number for request in order], [request.preempted for request in slow])
assert [request.tokens for request in slow] == [alone([i, 2, 3], {"limit": 40, "stops": []}) for i in (10, 20)]

# What one request has read, others have of it: a beginning is read once, by whom it is read first.
scheduler = attn.Scheduler(model, rows=8)
requests = [scheduler.submit(beginnings[0] + [i], limit=3) for i in range(8)]
while scheduler.step():
    pass
assert [request.kept for request in requests] == [0] + [40] * 7, [request.kept for request in requests]
# A row that goes on is the same row.
again = scheduler.submit(beginnings[0] + [0] + requests[0].tokens + [1, 2], limit=3)
while scheduler.step():
    pass
assert again.kept == 43 and again.read == 3, (again.kept, again.read)

# Probabilities, of the model's scores, whatever the rules.
request = scheduler.submit([1, 2, 3], limit=4, logprobs=5, temperature=2, seed=1, repetition=1.5)
while scheduler.step():
    pass
scores = np.asarray(model.context().scores(np.array([[1, 2, 3] + request.tokens], np.int32)), np.float64)[0, 2:-1]
expected = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
for row, token, (logprob, tops) in zip(expected, request.tokens, request.logprobs):
    assert abs(row[token] - logprob) < 1e-5
    assert list(tops) == np.argsort(-row, kind="stable")[:5].tolist() and all(abs(row[top] - tops[top]) < 1e-5 for top in tops)
assert len(request.logprobs) == 4

# A choice by the caller; what it raises is raised.
request = scheduler.submit([1], limit=3, on_scores=lambda scores: scores.__setitem__((slice(None), slice(0, 90)), -np.inf))
while scheduler.step():
    pass
assert len(request.tokens) == 3 and min(request.tokens) >= 90
broken = scheduler.submit([1], limit=3, on_token=lambda token: 1 // 0)
while scheduler.step():
    pass
mistakes = [
    (lambda: broken.is_done, "integer division"),
    (lambda: scheduler.submit([]), "the prompt has no tokens"),
    (lambda: scheduler.submit([[1]]), "expected a list of tokens"),
    (lambda: scheduler.submit([1, 97]), "token 1 of the prompt is 97, expected 0 to 96"),
    (lambda: scheduler.submit([1] * 97), "the prompt has 97 tokens, but the context has room for 96"),
    (lambda: scheduler.submit([1], beams=2), "expected one beam"),
    (lambda: scheduler.submit([1], limit=0), "a limit of at least one token"),
    (lambda: scheduler.submit([1], temperature=-1), "`temperature` is a number of at least 0"),
    (lambda: scheduler.submit([1], max_length=1), "`max_length` is 1 with those that are written"),
    (lambda: scheduler.submit([1], logprobs=101), "expected 0 to 100 likeliest tokens"),
    (lambda: attn.Scheduler(model, "scores"), "entry `scores` shares no steps"),
    (lambda: attn.Scheduler(model, rows=9), "expected at least 1 token a step, 1 to 8 rows"),
]
for act, expected in mistakes:
    try:
        act()
        raise SystemExit(f"no error: {expected}")
    except (attn.Error, ZeroDivisionError) as error:
        assert expected in str(error), (expected, str(error))
scheduler.submit([1, 2], limit=60)
scheduler.close()  # with a request that has not ended
print(f"{len(mistakes)} mistakes")
