"""A solution of the assignment, for its teachers and for the tests of its grader."""

import numpy as np


def ranks_from_scores(scores, held_out, train):
    own = scores[np.arange(len(scores)), held_out]
    not_worse = (scores >= own[:, None]) & ~train
    return not_worse.sum(axis=1)  # the held-out item is one of them


def ndcg(ranks, k):
    ranks = np.asarray(ranks)
    return np.where(ranks <= k, 1 / np.log2(ranks + 1), 0)


def average_precision(ranks, k):
    values = []
    for user in ranks:
        if not user:
            values.append(np.nan)
            continue
        total = sum(j / r for j, r in enumerate(sorted(user), 1) if r <= k)
        values.append(total / min(len(user), k))
    return np.array(values)


def sampled_rank_pmf(r, n, m, replacement):
    from scipy import stats

    above = np.arange(m + 1)
    if replacement:
        return stats.binom.pmf(above, m, (r - 1) / (n - 1))
    return stats.hypergeom.pmf(above, n - 1, r - 1, m)


def expected_sampled_recall(r, n, m, k):
    return sampled_rank_pmf(r, n, m, True)[:k].sum()


def order_flip(n, m, k):
    return [k, n], [k + 1, k + 1]


def corrected_table(n, m, k, prior):
    joint = np.array([prior[r - 1] * sampled_rank_pmf(r, n, m, True) for r in range(1, n + 1)])
    seen = joint.sum(axis=0)
    return np.divide(joint[:k].sum(axis=0), seen, out=np.zeros(m + 1), where=seen > 0)


def bias_and_std(table, r, n, m, k):
    p = sampled_rank_pmf(r, n, m, True)
    mean = p @ table
    return mean - (r <= k), np.sqrt(p @ (table - mean) ** 2)
