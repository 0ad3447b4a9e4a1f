#!/usr/bin/env python3
"""A scaling study: scaling.py RUN... prints, for runs of one program with different numbers of ranks, speed-up, efficiencies,
and the call paths whose share grows.

    export PYTHONPATH=/opt/marple/lib/python
    for p in 1 2 4 8; do mpirun -n $p marple exec --out run-$p ./app; done
    python3 examples/scaling.py run-*
"""

import sys

import marple
import pandas

runs = sorted((marple.load(path) for path in sys.argv[1:]), key=lambda run: run.ranks)
if not runs:
    sys.exit(__doc__)

# %% How does the time go down, and what keeps it from doing so?
study = pandas.DataFrame({run.ranks: {"seconds": run.wall, **run.efficiency} for run in runs}).T
study.index.name = "ranks"
study.insert(1, "speed-up", runs[0].wall * runs[0].ranks / study["seconds"])
print(study.to_string(float_format="%.3g"))

# %% Which call paths take a growing share of the core time?
shares = pandas.DataFrame({run.ranks: run.graph.groupby(run.graph["path"].map(" > ".join))["exclusive"].sum() for run in runs}).fillna(0)
shares = shares / shares.sum()
growth = (shares[runs[-1].ranks] - shares[runs[0].ranks]).nlargest(5)
print("\nshare of core time, and where it grows most")
for path in growth.index:
    print("  " + " ".join(f"{100 * shares.loc[path, run.ranks]:6.1f} %" for run in runs), " ", path.split(" > ")[-1])

# %% What does Marple say of the largest run?
for finding in runs[-1].findings.itertuples():
    print(f"\n{finding.title} ({100 * finding.share:.0f} %)\n  {finding.advice}")
