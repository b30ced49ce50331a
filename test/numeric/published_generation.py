# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How Hugging Face's library chooses tokens by the scores of a model, in double precision: the rules over scores, greedy choice and beam
search, written from their descriptions. Numbers have the names of generation_config.json; lengths count the prompt, as there."""
import numpy as np

NOTHING = dict(repetition_penalty=1.0, encoder_repetition_penalty=1.0, no_repeat_ngram_size=0, encoder_no_repeat_ngram_size=0, bad_words_ids=(),
               min_length=0, min_new_tokens=0, forced_bos=(), forced_eos_token_id=(), exponential_decay_length_penalty=(0, 1.0),
               suppress_tokens=(), begin_suppress_tokens=(), renormalize_logits=False, eos_token_id=(), num_beams=1, length_penalty=1.0,
               early_stopping=False)


def log_softmax(scores):
    scores = scores - scores.max()
    return scores - np.log(np.exp(scores).sum())


def banned(ids, text, size):
    """Tokens that would make `size` tokens of a text come again behind these."""
    last = ids[len(ids) - (size - 1):] if size > 1 else []
    return [text[i + size - 1] for i in range(len(text) - size + 1) if list(text[i:i + size - 1]) == list(last)] if len(ids) >= size - 1 else []


def processed(scores, ids, prompt, source, most, rules):
    """What the rules make of the scores of what follows `ids`, which begin with `prompt` tokens; `most` tokens follow the prompt."""
    scores, chosen = scores.astype(np.float64).copy(), len(ids) - prompt
    for penalty, tokens in (1 / rules["encoder_repetition_penalty"], source), (rules["repetition_penalty"], ids):
        for token in set(tokens):
            scores[token] = scores[token] * penalty if scores[token] < 0 else scores[token] / penalty
    if size := rules["no_repeat_ngram_size"]:
        scores[banned(ids, ids, size)] = -np.inf
    if size := rules["encoder_no_repeat_ngram_size"]:
        scores[banned(ids, source, size)] = -np.inf
    for *before, last in rules["bad_words_ids"]:
        if not before and last in rules["eos_token_id"]:
            continue
        if not before or (len(before) < len(ids) and list(ids[-len(before):]) == before):
            scores[last] = -np.inf
    stops = list(rules["eos_token_id"])
    if len(ids) < rules["min_length"] or chosen < rules["min_new_tokens"]:
        scores[stops] = -np.inf
    if chosen < len(rules["forced_bos"]):
        scores[:] = -np.inf
        scores[rules["forced_bos"][chosen]] = 0
        return scores
    if rules["forced_eos_token_id"] and chosen == most - 1:
        scores[:] = -np.inf
        scores[list(rules["forced_eos_token_id"])] = 0
        return scores
    begin, factor = rules["exponential_decay_length_penalty"]
    if chosen > begin:
        finite = [stop for stop in stops if scores[stop] > -np.inf]
        scores[finite] += np.abs(scores[finite]) * (factor ** (chosen - begin) - 1)
    scores[list(rules["suppress_tokens"])] = -np.inf
    if chosen == len(rules["forced_bos"]):
        scores[list(rules["begin_suppress_tokens"])] = -np.inf
    return scores


def greedy(scores_of, prompt, source, most, rules):
    """The tokens that follow a prompt, without the stop, and by how little another one was missed."""
    ids, near = list(prompt), np.inf
    while len(ids) < len(prompt) + most:
        scores = processed(scores_of(ids), ids, len(prompt), source, most, rules)
        best = np.sort(scores)[::-1]
        near = min(near, best[0] - best[1])
        token = int(scores.argmax())
        if token in rules["eos_token_id"]:
            break
        ids.append(token)
    return ids[len(prompt):], near


def beam_search(scores_of, prompt, source, most, rules):
    """The same by beams. A hypothesis is its tokens and the sum of their logarithms; a finished one has a score, too."""
    beams, stops, penalty, early = rules["num_beams"], rules["eos_token_id"], rules["length_penalty"], rules["early_stopping"]
    running, finished, near = [(0.0, [])], [], np.inf
    for length in range(1, most + 1):
        candidates = []
        for total, tokens in running:
            ids = [*prompt, *tokens]
            scores = processed(log_softmax(scores_of(ids).astype(np.float64)), ids, len(prompt), source, most, rules)
            if rules["renormalize_logits"]:
                scores = log_softmax(scores)
            candidates += [(total + scores[token], [*tokens, int(token)]) for token in np.flatnonzero(scores > -np.inf)]
        candidates.sort(key=lambda one: -one[0])
        seen = np.array([total for total, _ in candidates[:beams * (1 + len(stops)) + 1]])
        near = min(near, np.diff(-seen).min(initial=np.inf))
        # What ends among the first may be an answer; the others go on.
        ends = lambda tokens: tokens[-1] in stops or length == most
        finished += [(total / length ** penalty, tokens) for total, tokens in candidates[:beams] if ends(tokens)]
        finished = sorted(finished, key=lambda one: -one[0])[:beams]
        running = [one for one in candidates[:beams * (1 + len(stops))] if not ends(one[1])][:beams]
        if not running:
            break
        if len(finished) == beams:
            best = running[0][0] / (most if early == "never" and penalty > 0 else length) ** penalty
            near = min(near, abs(best - finished[-1][0]) if early is not True else np.inf)
            if early is True or best <= finished[-1][0]:
                break
    if len(finished) > 1:
        near = min(near, finished[0][0] - finished[1][0])
    tokens = finished[0][1]
    return tokens[:-1] if tokens[-1] in stops else tokens, near
