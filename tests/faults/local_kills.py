"""local_kills.py NODES RANKS KILLS [SEED]: a run of so many nodes of so many ranks each (1, 2 or 4 in all, which make the same bits)
saves on its nodes after each step, and in the run directory after each seventh; it loses a process of KILLS launches at a random moment,
and then all that lay on one of its nodes. Each launch resumes from the newest checkpoint that was announced, or a newer one; at last
the run must end with the weights of an undisturbed one."""

import glob
import json
import os
import random
import shutil
import subprocess
import sys
import time

import faults
import subjects

AS_NODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "as_node.sh")
LOCAL = ["--checkpoint-local", "local", "--flush-every", "7", "--keep-last", "3"]


def records(run):
    try:
        lines = open(os.path.join(run, "metrics.jsonl"), errors="replace").read().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass  # torn
    return found


def newest_announced(run):
    """The step of the newest since the newest start."""
    newest = 0
    for record in records(run):
        if record["kind"] == "resume":
            newest = record["step"]
        if record["kind"] in ("checkpoint", "local_checkpoint"):
            newest = record["step"]
    return newest


def local_names():
    return {os.path.basename(r["path"]) for r in records("run") if r["kind"] == "local_checkpoint"}


def command(nodes, ranks, steps):
    train = subjects.command(f"mpi={nodes * ranks}", "run", steps, *LOCAL)
    at = len(subjects.MPIRUN) + 1
    return train[:at] + [AS_NODE, str(ranks)] + train[at:]


def launch(nodes, ranks, steps, rng):
    """Killed some while after it has announced a few more; what was announced then."""
    before = len([r for r in records("run") if "checkpoint" in r["kind"]])
    launcher = subprocess.Popen(command(nodes, ranks, steps), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    more = rng.randrange(1, 12)
    while launcher.poll() is None and len([r for r in records("run") if "checkpoint" in r["kind"]]) < before + more:
        time.sleep(0.005)
    time.sleep(rng.random() * 0.05)
    victims = subjects.ranks_of(launcher.pid)
    if victims:
        try:
            os.kill(rng.choice(victims), 9)
        except ProcessLookupError:
            pass
    _, stderr = launcher.communicate(timeout=60)
    return faults.Outcome(launcher.returncode, "", stderr, 0)


def lose_a_node(rng):
    folders = sorted(glob.glob("local/*/*/node*"))
    if folders:
        shutil.rmtree(rng.choice(folders))


def check_resumed(number, announced, starts, outcome):
    """That this launch, if it came so far as to start, went on from what was announced before it."""
    resumes = [r for r in records("run") if r["kind"] in ("start", "resume")][starts:]
    if outcome.code in (1, 2, 3):
        faults.fail(f"launch {number}: ended in another way: {outcome}")
    if resumes and resumes[0]["step"] < announced:
        faults.fail(f"launch {number}: went on from step {resumes[0]['step']}, step {announced} was announced: {outcome}")


def main():
    nodes, ranks, kills = (int(a) for a in sys.argv[1:4])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    rng = random.Random(seed)
    print(f"seed {seed}")
    subjects.prepare()
    hits = from_nodes = 0
    steps = 100 * kills + 100
    for number in range(1, kills + 1):
        announced, starts = newest_announced("run"), len([r for r in records("run") if r["kind"] in ("start", "resume")])
        outcome = launch(nodes, ranks, steps, rng)
        check_resumed(number, announced, starts, outcome)
        hits += outcome.code != 0
        resumes = [r for r in records("run") if r["kind"] == "resume"][-1:]
        from_nodes += any(r["checkpoint"] in local_names() for r in resumes)
        lost = faults.what_is_lost("run", faults.announced("run")[-1:])
        if lost:
            faults.fail(f"launch {number}: {lost}")
        lose_a_node(rng)
    announced, starts = newest_announced("run"), len([r for r in records("run") if r["kind"] in ("start", "resume")])
    if hits < kills / 2 or announced == 0:
        faults.fail(f"{hits} of {kills} kills met a process; step {announced} is the newest")
    last = faults.tool(*command(nodes, ranks, announced + 20))
    check_resumed("last", announced, starts, last)
    whole = faults.tool(*subjects.command("threads=1", "whole", announced + 20, save_every=announced + 20))
    if last.code != 0 or whole.code != 0 or not faults.same_weights("run", "whole"):
        faults.fail(f"the run's end: {last}{whole}")
    if glob.glob("local/*/*/*/step-*"):
        faults.fail("the run's end leaves shares on its nodes")
    print(f"{nodes} nodes of {ranks}: {hits} kills, each with a node's folder lost; {from_nodes} launches went on from local checkpoints")


main()
