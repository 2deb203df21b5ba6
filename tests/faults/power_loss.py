"""power_loss.py KIND CUTS [singly]: power failures of a run of KIND (subjects.py).

A run into folders that are new, killed in its second save, gone on with and pruned, is recorded. The recording is cut at CUTS
places, and of what a disk may then have left (disk.py) each checkpoint that had been announced, and not since been pruned, must
verify; no partial one may be selected. Then the same with the syncs of one class of paths turned into nothing: that must lose
something.

With `singly`, says of each single sync of a save whether leaving it out loses something."""

import os
import random
import re
import shutil
import sys
import tempfile

import disk
import faults
import subjects

RUN = "new/run"
CLASSES = [("piece files", r"rank-[0-9]+[.]h5$"), ("manifest", r"manifest[.]json$"),
           ("checkpoint folder", r"checkpoints/[.]step-[^/]*$"), ("parent folder", r"/checkpoints$"),
           ("run directory", r"^new/run$"), ("folder above", r"^([.]|new)$")]
INDEX = ("index of pieces", r"pieces[.]index$")  # of subjects that have one
KEPT = [(0, 1), (1, 0), (0, 0), (0.5, 0.5), (0.5, 1), (0.9, 0.9)]  # shares of unsynced pages and of unsynced names


def record(kind, **orders):
    """The operations of a run of three saves, killed in the second one where nothing else is ordered."""
    shutil.rmtree("root", ignore_errors=True)
    os.mkdir("root")
    if os.path.exists("log"):
        os.remove("log")
    log = os.path.abspath("log")
    pruned = ["2"] if kind.startswith("writers") else ["--keep-last", "2"]
    if not orders:
        killed = faults.run(subjects.command(kind, f"root/{RUN}", 3, *pruned), "root", log=log, action="die-before",
                            kinds="write", path="step-00000002[^/]*/rank-0+.h5", first=10, last=10)
        if killed.code == 0:
            faults.fail(f"{kind}: was to be killed, but was not")
    whole = faults.run(subjects.command(kind, f"root/{RUN}", 4, *pruned), "root", log=log, **orders)
    if whole.code != 0:
        faults.fail(f"{kind}: under the injector: {whole}")
    return disk.read_log(log)


ACCOUNT = f"{RUN}/metrics.jsonl"


def announcement(operation):
    if operation.kind != "write" or operation.path != ACCOUNT:
        return []
    return faults.announced_in(operation.data.decode(errors="replace"))


def removal(operation):
    """The checkpoint that this operation takes away on purpose, or None."""
    found = re.fullmatch(re.escape(RUN) + r"/checkpoints/(step-[^/]*)", operation.path)
    return found.group(1) if operation.kind == "rename" and found else None


def chosen_cuts(operations, count, rng):
    """Half of them close behind an announcement, where the most is promised and the least is old."""
    after = [i + 1 for i, o in enumerate(operations) if announcement(o)]
    cuts = [rng.randrange(1, len(operations) + 1) for _ in range(count - count // 2)]
    cuts += [min(rng.choice(after) + rng.randrange(3), len(operations)) for _ in range(count // 2)]
    return sorted(cuts)


def first_loss(operations, num_cuts, by_host=False, lines_too=False):
    """What a cut loses, "" where none does; and how many promises were looked at. `lines_too`: what was told must be in
    the account of the run as well, once that is synced."""
    rng = random.Random(1)
    state, promised, done, promises = disk.Disk(), [], 0, 0
    written, told = [], []
    for cut in chosen_cuts(operations, num_cuts, rng):
        for operation in operations[done:cut]:
            state.apply(operation, by_host)
            promised = [name for name in promised + announcement(operation) if name != removal(operation)]
            written += announcement(operation)
            if lines_too and operation.kind == "sync" and operation.path == ACCOUNT:
                told = list(written)
        done = cut
        kept = rng.choice(KEPT)
        promises += len(promised)
        with tempfile.TemporaryDirectory(prefix="cut-", dir=".") as folder:
            state.write_survivors(f"{folder}/root", rng, *kept)
            lost = faults.what_is_lost(f"{folder}/root/{RUN}", promised)
            missing = set(told) - set(faults.announced(f"{folder}/root/{RUN}"))
            lost = lost or (f"the account of the run has lost {missing}" if missing else "")
        if lost:
            return (f"after operation {cut} of {len(operations)} ({operations[cut - 1]}), with {kept} of unsynced pages and "
                    f"names kept: {lost[:600]}"), promises
    return "", promises


def check_held(kind, operations, num_cuts, by_host):
    lost, promises = first_loss(operations, num_cuts, by_host, lines_too=True)
    if lost:
        faults.fail(f"{kind}: {lost}")
    if promises < num_cuts // 2:
        faults.fail(f"{kind}: only {promises} announced checkpoints in {num_cuts} cuts")
    each = ", each process a host" if by_host else ""
    print(f"{kind}: {num_cuts} cuts of {len(operations)} operations{each}: {promises} announced checkpoints, none lost")


def check_account(kind, operations):
    """An announcement is synced before anything else is written to the account of the run."""
    account = [o for o in operations if o.path == ACCOUNT and o.kind in ("write", "sync")]
    for written, after in zip(account, account[1:] + [None]):
        if announcement(written) and (after is None or after.kind != "sync"):
            faults.fail(f"{kind}: {announcement(written)} is announced in a line that is not synced")


def check_needed(kind, num_cuts):
    for name, path in CLASSES + ([INDEX] if re.fullmatch("writers=[0-9]+:[0-9]+", kind) else []):
        lost, _ = first_loss(record(kind, action="pretend", kinds="sync", path=path), max(num_cuts, 200))  # ends at the first
        if not lost:
            faults.fail(f"{kind}: without syncs of the {name} nothing is lost in {num_cuts} cuts")
        print(f"{kind}: without syncs of the {name} a checkpoint is lost")


def report_singly(kind, num_cuts):
    operations = record(kind, action="none")
    syncs = [i for i, o in enumerate(operations) if o.kind == "sync"]
    for by_host in (False, True):
        for i in syncs:
            lost, _ = first_loss(operations[:i] + operations[i + 1:], num_cuts, by_host)
            print(f"{kind}: {'hosts' if by_host else 'one host'}: {i} {operations[i].path}: {'needed' if lost else '-'}")


def main():
    kind, num_cuts = sys.argv[1], int(sys.argv[2])
    subjects.prepare()
    if sys.argv[3:] == ["singly"]:
        return report_singly(kind, num_cuts)
    operations = record(kind)
    check_account(kind, operations)
    check_held(kind, operations, num_cuts, by_host=False)
    check_held(kind, operations, num_cuts, by_host=True)
    check_needed(kind, num_cuts)


main()
