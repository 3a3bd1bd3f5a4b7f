"""Compiled loops of `enmesh.events`."""

import numpy as np

from enmesh.compiled import allocating_kernel


@allocating_kernel
def unused_first(who, interval, order, words, out):
    """Let every row, in a random order, take one of its nearest ``who (n, k)``: one of an interval nobody took from,
    else one that nobody took, else any."""
    taken, emptied = np.zeros(len(interval), np.bool_), np.zeros(interval.max() + 1, np.bool_)
    k = who.shape[1]
    free, fresh = np.empty(k, np.int64), np.empty(k, np.int64)
    for place in range(len(order)):
        i, word = order[place], words[place]
        some = new = 0
        for m in range(k):
            j = who[i, m]
            if not taken[j]:
                free[some] = j
                some += 1
                if not emptied[interval[j]]:
                    fresh[new] = j
                    new += 1
        chosen = fresh[word % new] if new else free[word % some] if some else who[i, word % k]
        taken[chosen] = emptied[interval[chosen]] = True
        out[i] = chosen


@allocating_kernel
def share_time(near, spans, others):
    """Return the share of pairs (i, near[i]) that are not compared because of their second spans alone."""
    asked, lost = 1, 0
    for i in range(len(near)):
        for j in near[i]:
            if spans[i, 0] < others[j, 1] and others[j, 0] < spans[i, 1]:
                continue
            asked += 1
            lost += spans[i, 2] < others[j, 3] and others[j, 2] < spans[i, 3]
    return lost / asked
