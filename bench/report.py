# SPDX-License-Identifier: Apache-2.0
"""Numbers from samples: percentiles, ratios with their confidence, goals, tables."""

import random
import statistics

GROUPS = (
    ("start", "brig --version, which does nothing; bare: a static no-op with libc"),
    ("noop", "A static no-op of %d bytes"),
    ("noop-libc", "A static no-op with libc, %d bytes"),
    ("python", "python3, print(1)"),
)
RESAMPLES = 1000


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def milliseconds(ns):
    return ns / 1e6


def spread(first, second, combine):
    """The figure from the medians, and its 95% interval from rounds that are drawn again."""
    rounds = len(first)
    chance = random.Random(1)
    drawn = []
    for _ in range(RESAMPLES):
        picks = chance.choices(range(rounds), k=rounds)
        drawn.append(combine(statistics.median(first[i] for i in picks),
                             statistics.median(second[i] for i in picks)))
    drawn.sort()
    figure = combine(statistics.median(first), statistics.median(second))
    return figure, drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40]


def ratio(first, second):
    return first / second


def difference(first, second):
    return milliseconds(first - second)


# what, contender, against, how combined, unit, at most
GOALS = (
    ("brig --version against bare fork + exec", "start/brig", "start/fork", ratio, "x", 1.5),
    ("no-op against bare fork + exec", "noop/brig", "noop/fork", ratio, "x", 4.0),
    ("no-op with libc against bare fork + exec", "noop-libc/brig", "noop-libc/fork", ratio, "x",
     4.0),
    ("python against bare fork + exec", "python/brig", "python/fork", ratio, "x", 1.15),
    ("python, warm service, against bare fork + exec", "python/brig-warm", "python/fork", ratio, "x",
     0.167),
    ("all limits against none, no-op", "noop/brig", "noop/brig-nolimits", difference, " ms", 0.2),
    ("all limits against none, python", "python/brig", "python/brig-nolimits", difference, " ms",
     0.2),
)


def goals(samples):
    """[(what, figure, low, high, figure at p10, unit, at most)] of the figures that were measured.
    """
    return [(what, *spread(samples[one], samples[other], combine),
             combine(percentile(samples[one], 10), percentile(samples[other], 10)), unit, most)
            for what, one, other, combine, unit, most in GOALS
            if one in samples and other in samples]


def table(rows):
    """Aligned columns that are also a Markdown table; all but the first are right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        lines.append("| " + " | ".join(cells) + " |")
        if number == 0:
            rules = ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]]
            lines.append("| " + " | ".join(rules) + " |")
    return "\n".join(lines)


def group_table(contenders, samples, cpu, group):
    def times(value, base):
        base = samples.get(group + "/" + base)
        return "%.2f" % (value / statistics.median(base)) if base else "-"

    rows = [("what", "p10 ms", "p50 ms", "p90 ms", "p99 ms", "x fork", "x spawn", "cpu ms")]
    for contender in contenders:
        if contender.group != group:
            continue
        walls = samples[contender.name]
        middle = statistics.median(walls)
        used = statistics.median(cpu[contender.name])
        rows.append((contender.label, "%.3f" % milliseconds(percentile(walls, 10)),
                     "%.3f" % milliseconds(middle),
                     "%.3f" % milliseconds(percentile(walls, 90)),
                     "%.3f" % milliseconds(percentile(walls, 99)),
                     times(middle, "fork"), times(middle, "spawn"),
                     "%.2f" % milliseconds(used) if used else "-"))
    return table(rows)


def goal_table(samples):
    rows = [("goal, p50", "measured", "95% interval", "at most", "met", "at p10")]
    for what, figure, low, high, quiet, unit, most in goals(samples):
        rows.append((what, "%.2f%s" % (figure, unit), "%.2f to %.2f" % (low, high),
                     "%g%s" % (most, unit), "yes" if figure <= most else "no",
                     "%.2f%s" % (quiet, unit)))
    return table(rows)


def posture_table(postures, host):
    rows = [("seen from inside", "new namespaces", "capabilities", "no_new_privs", "seccomp",
             "root")]
    for name, seen in postures:
        new = [kind for kind, link in seen["ns"].items() if link != host.get(kind)]
        rows.append((name, " ".join(new), seen["caps"], seen["nnp"], seen["seccomp"],
                     seen["root"]))
    return table(rows)


def whole(facts, contenders, samples, cpu, postures, host, sizes):
    parts = ["\n".join("- " + fact for fact in facts)]
    parts.append(goal_table(samples))
    for group, title in GROUPS:
        if any(contender.group == group for contender in contenders):
            parts.append("**%s**" % (title % sizes[group] if "%" in title else title))
            parts.append(group_table(contenders, samples, cpu, group))
    parts.append(posture_table(postures, host))
    return "\n\n".join(parts) + "\n"
