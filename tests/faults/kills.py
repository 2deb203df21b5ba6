"""kills.py KIND[,KIND...] KILLS [SEED]: a run that saves after each step loses a process of KILLS launches, at random moments of
its saving: one that is about to do, or is amid, an operation on a checkpoint, or any one from outside. Each launch is of a KIND
drawn from those given (subjects.py) and goes on with what the one before left. After each kill the newest announced checkpoint
must verify, and so must everything under a final name; at last the run must end with the weights of an undisturbed one."""

import os
import random
import subprocess
import sys
import time

import faults
import subjects

SAVE = "^new/checkpoints"
KEEP = 3


def options(kind):
    return [str(KEEP)] if kind.startswith("writers") else ["--keep-last", str(KEEP)]


def killed_within(kind, steps, rng):
    """By the injector: whoever does that operation dies."""
    action = rng.choice(["die-before", "die-after", "die-amid"])
    kinds = {"kinds": "write"} if action == "die-amid" else {}
    n = rng.randrange(1, 400)
    return faults.run(subjects.command(kind, "root/new", steps, *options(kind)), "root", action=action, first=n, last=n,
                      path=SAVE, **kinds)


def killed_from_outside(kind, steps, rng):
    """Some while after the first checkpoint of this launch."""
    before = len(faults.announced("root/new"))
    launcher = subprocess.Popen(subjects.command(kind, "root/new", steps, *options(kind)), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    while launcher.poll() is None and len(faults.announced("root/new")) == before:
        time.sleep(0.005)
    time.sleep(rng.random() * 0.1)
    victims = subjects.ranks_of(launcher.pid) if kind.startswith("mpi") else [launcher.pid]
    if victims:
        try:
            os.kill(rng.choice(victims), 9)
        except ProcessLookupError:
            pass
    _, stderr = launcher.communicate(timeout=60)
    return faults.Outcome(launcher.returncode, "", stderr, 0)


def check(kind, number):
    lost = faults.what_is_lost("root/new", faults.announced("root/new")[-1:])
    if lost:
        faults.fail(f"kill {number}, {kind}: {lost}")


def main():
    kinds, kills = sys.argv[1].split(","), int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    subjects.prepare()
    os.mkdir("root")
    steps = 40 * kills + 100
    hits = 0
    for number in range(1, kills + 1):
        kind = rng.choice(kinds)
        outcome = rng.choice([killed_within, killed_from_outside])(kind, steps, rng)
        hits += outcome.code != 0
        if outcome.code in (1, 2, 3):
            faults.fail(f"kill {number}, {kind}: ended in another way: {outcome}")
        check(kind, number)
    last = faults.tool("dt-checkpoint", "latest", "root/new").stdout.strip()
    if not last or hits < kills / 2:
        faults.fail(f"{hits} of {kills} kills met a process; the newest checkpoint is '{last}'")
    compare(kinds[0], faults.step_of(os.path.basename(last)) + 1)
    generations = sum(name.endswith(".json") for name in os.listdir("root/new/generations"))
    print(f"{','.join(kinds)}: {hits} kills, {generations} generations, the newest is {last}: nothing lost, nothing partial taken")


def compare(kind, steps):
    """The run, gone on with by one more step, and an undisturbed one, which need not save."""
    resumed = faults.tool(*subjects.command(kind, "root/new", steps))
    whole = faults.tool(*subjects.command(kind, "root/whole", steps, save_every=steps))
    if resumed.code != 0 or whole.code != 0:
        faults.fail(f"the run's end: {resumed}{whole}")
    if not faults.same_weights("root/new", "root/whole"):
        faults.fail("the run ends with other weights than an undisturbed one")


main()
