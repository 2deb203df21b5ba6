"""die_everywhere.py KIND EVERY RESUME_EVERY: a process of KIND (subjects.py) is killed before its Nth operation on files, and
amid its Nth write, for every EVERYth N of a start that trains one step and saves. What was announced must verify, nothing partial
may be selected; after each RESUME_EVERYth death the run must go on to the weights of the undisturbed one."""

import sys

import faults
import subjects

kind, every, resume_every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
subject = subjects.Subject(kind)
deaths = resumes = committed = 0
for action, orders in (("die-before", {}), ("die-amid", {"kinds": "write"})):
    for n in range(1, subject.count(**orders) + 1, every):
        outcome = subject.save(action=action, first=n, last=n, **orders)
        where = f"{action} {n}"
        if outcome.code == 0:
            # Several processes do not take the same turns each time; one may do without the last.
            if outcome.matched >= n and kind in ("self", "writers=1"):
                faults.fail(f"{kind}: {where}: no process died")
            continue
        deaths += 1
        subject.check_kept(where)
        committed += len(faults.final_names("root/run")) - 1
        if deaths % resume_every == 0:
            resumes += 1
            subject.check_resumes(where)
# Of a sample, all may fall on one side of the commit.
if deaths == 0 or (every == 1 and committed in (0, deaths)):
    faults.fail(f"{kind}: {deaths} deaths, {committed} of them after the commit: the test misses what it is for")
print(f"{kind}: {deaths} deaths, {committed} after the commit, {resumes} resumed: nothing lost, nothing partial taken")
