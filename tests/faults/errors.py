"""errors.py KIND EVERY: errors of the file system befall every EVERYth write, and at least every EVERYth of other operations,
of a start that trains one step and saves.

Each must be reported once, with a path of the run and exit 4; the checkpoint before stays and verifies, nothing is committed (or all
of it, where the error came after the commit), and no hidden folder is left. Interrupted calls and short writes must not show at all."""

import errno
import glob
import os
import sys

import faults
import subjects

WRITING = "create,write,truncate,mkdir,rename,link"
# Once: the process has to notice that very one. Else from there on, as a full disk stays full.
ONCE = [("EIO", "sync"), ("EIO", "close"), ("EDQUOT", "close"), ("ENOSPC", "create,mkdir,rename,link,truncate"), ("EIO", "write")]
LASTING = [("ENOSPC", WRITING), ("EDQUOT", WRITING + ",sync"), ("EROFS", WRITING + ",unlink")]
# Not what ranks leave for each other while they live, nor the closing of a lock.
WATCHED = "^run/(checkpoints/|run.json|generations/[.]|[.])|^run(/checkpoints|/generations|/metrics.jsonl)?$"
CLOSED = "^run/checkpoints/|[.]tmp-|^run/metrics.jsonl$"


def check_reported(subject, outcome, name, where):
    if outcome.code != 4:
        faults.fail(f"{subject.kind}: {where}: exit {outcome.code}, not 4: {outcome}")
    said = [line for line in outcome.stderr.splitlines() if "error: " in line]
    text = os.strerror(getattr(errno, name))
    if len(said) != 1 or text not in said[0] or "root/run" not in said[0]:
        faults.fail(f"{subject.kind}: {where}: not one message with '{text}' and a path: {outcome}")


def check_nothing_half(subject, where, removal_works):
    subject.check_kept(where)
    names = faults.final_names("root/run")
    if names[0] != "step-00000001.g1" or len(names) > 2:
        faults.fail(f"{subject.kind}: {where}: left {names}")
    hidden = glob.glob("root/run/checkpoints/.step-*")
    if hidden and removal_works:
        faults.fail(f"{subject.kind}: {where}: left {hidden}")


def sweep(subject, every, name, kinds, lasting):
    orders = {"path": CLOSED if kinds == "close" else WATCHED, "kinds": kinds}
    reported = 0
    step = every if "write" in kinds else max(1, every // 4)  # writes are many and much alike
    for n in range(1, subject.count(**orders) + 1, step):
        last = {} if lasting else {"last": n}
        outcome = subject.save(action=f"fail={getattr(errno, name)}", first=n, **last, **orders)
        where = f"{name} at {kinds} {n}{' and after' if lasting else ''}"
        check_nothing_half(subject, where, removal_works=not (lasting and name == "EROFS"))
        if outcome.code == 0 and outcome.matched < n:
            continue  # ranks do not take the same turns each time
        if outcome.code == 0 and "warning: cannot write the unit times" in outcome.stderr:
            continue  # what nothing depends on is warned of
        reported += 1
        check_reported(subject, outcome, name, where)
    print(f"{subject.kind}: {name} at {kinds}{' and after' if lasting else ''}: {reported} reported")
    if reported == 0:
        faults.fail(f"{subject.kind}: {name} at {kinds}: none was reported")


def check_unnoticed(subject, every):
    # close() is not repeated: after EINTR Linux has closed the file.
    orders = {"path": WATCHED, "kinds": "create,write,sync,close"}
    for n in range(1, subject.count(**orders) + 1, every):
        outcome = subject.save(action=f"fail={errno.EINTR}", first=n, last=n, **orders)
        if outcome.code != 0 or not faults.same_weights("root/run", "whole/run"):
            faults.fail(f"{subject.kind}: EINTR at operation {n} shows: {outcome}")
    outcome = subject.save(action="short", kinds="write")
    if outcome.code != 0 or not faults.same_weights("root/run", "whole/run"):
        faults.fail(f"{subject.kind}: short writes show: {outcome}")
    print(f"{subject.kind}: interrupted calls and short writes do not show")


def main():
    kind, every = sys.argv[1], int(sys.argv[2])
    subject = subjects.Subject(kind)
    for name, kinds in ONCE:
        sweep(subject, every, name, kinds, lasting=False)
    for name, kinds in LASTING:
        sweep(subject, every, name, kinds, lasting=True)
    check_unnoticed(subject, every)


main()
