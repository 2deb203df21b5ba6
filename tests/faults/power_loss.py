"""power_loss.py RECORDING CUTS [--without REGEX] [--run NAME] [--hosts] [--seed N]

Cuts a recording (FAULTS_LOG of a run below the recorded root) at random places and looks at what a disk may have left. Each
checkpoint that had been announced by then, and not since pruned, must verify; no partial one may be selected. Says "held" and
exits 0, or says what was lost and exits 5.

  --run NAME      the run directory below the recorded root
  --without REGEX syncs of these paths do not happen
  --hosts         each process is a host of a shared file system: what one syncs is only what it wrote
"""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile

import disk
import faults


def announcement(operation, run):
    if operation.kind != "write" or operation.path != f"{run}/metrics.jsonl":
        return []
    return faults.announced_in(operation.data.decode(errors="replace"))


def removal(operation, run):
    """The checkpoint that this operation takes away on purpose, or None."""
    found = re.fullmatch(re.escape(run) + r"/checkpoints/(step-[^/]*)", operation.path)
    return found.group(1) if operation.kind == "rename" and found else None


def chosen_cuts(operations, run, count, rng):
    """Half of them close behind an announcement, where the most is promised and the least is old."""
    after = [i + 1 for i, o in enumerate(operations) if announcement(o, run)]
    cuts = [rng.randrange(1, len(operations) + 1) for _ in range(count - count // 2)]
    cuts += [min(rng.choice(after) + rng.randrange(3), len(operations)) for _ in range(count // 2)]
    return sorted(cuts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recording")
    parser.add_argument("cuts", type=int)
    parser.add_argument("--run", default="run")
    parser.add_argument("--without")
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    operations = disk.read_log(asked.recording)
    rng = random.Random(asked.seed)
    cuts = chosen_cuts(operations, asked.run, asked.cuts, rng)
    state, promised, done = disk.Disk(), [], 0
    folder = tempfile.mkdtemp(prefix="cut-", dir=os.getcwd())
    promises = 0
    for number, cut in enumerate(cuts):
        for operation in operations[done:cut]:
            skipped = operation.kind == "sync" and asked.without and re.search(asked.without, operation.path)
            if not skipped:
                state.apply(operation, asked.hosts)
            promised += announcement(operation, asked.run)
            promised = [name for name in promised if name != removal(operation, asked.run)]
        done = cut
        survivors = os.path.join(folder, str(number))
        kept = rng.choice([(0, 1), (1, 0), (0, 0), (0.5, 0.5), (0.5, 1), (0.9, 0.9)])
        state.write_survivors(survivors, rng, *kept)
        promises += len(promised)
        lost = faults.what_is_lost(os.path.join(survivors, asked.run), promised)
        if lost:
            print(f"lost: cut {number + 1} of {len(cuts)}, after operation {cut} of {len(operations)} "
                  f"({operations[cut - 1]}), with {kept} of unsynced pages and names kept: {lost}")
            sys.exit(5)
        shutil.rmtree(survivors)
    shutil.rmtree(folder)
    if promises == 0:
        faults.fail("no cut came after an announcement")
    print(f"held: {len(cuts)} cuts in {len(operations)} operations, {promises} announced checkpoints looked at")


main()
