"""Running programs with faults put under them (tests/faults/injector.hpp), and what must hold afterwards."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIBRARY = os.path.join(os.environ["DT_BUILD"], "lib", "libfaults.so")


def fail(message):
    print("FAIL: " + message, file=sys.stderr)
    sys.exit(1)


class Outcome:
    def __init__(self, code, stdout, stderr, matched):
        self.code, self.stdout, self.stderr, self.matched = code, stdout, stderr, matched

    def __str__(self):
        return f"exit {self.code}\n{self.stdout[-2000:]}{self.stderr[-3000:]}"


if not os.path.exists(LIBRARY):
    fail(f"{LIBRARY} is missing: without it no fault happens")


def run(command, root, timeout_s=120, **orders):
    """Runs `command` with faults ordered for what is below `root`: kinds, path, first, last, action, log.

    `matched` of what returns is how many operations matched. A process that dies is answered as -9."""
    with tempfile.NamedTemporaryFile(prefix="faults-state-") as state:
        environment = dict(os.environ, LD_PRELOAD=LIBRARY, FAULTS_ROOT=os.path.realpath(root), FAULTS_STATE=state.name)
        for name, value in orders.items():
            environment["FAULTS_" + name.upper()] = str(value)
        process = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                                 timeout=timeout_s)
        matched = int.from_bytes(open(state.name, "rb").read(8), "little")
    return Outcome(process.returncode, process.stdout, process.stderr, matched)


def tool(*command):
    process = subprocess.run(command, capture_output=True, text=True)
    return Outcome(process.returncode, process.stdout, process.stderr, 0)


def announced_in(text):
    """Names of the checkpoints that lines of metrics.jsonl announce."""
    names = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # torn
        if isinstance(record, dict) and record.get("kind") == "checkpoint":
            names.append(os.path.basename(record["path"]))
    return names


def announced(run_folder):
    try:
        with open(os.path.join(run_folder, "metrics.jsonl"), errors="replace") as file:
            return announced_in(file.read())
    except FileNotFoundError:
        return []


def step_of(name):
    return int(re.match(r"step-(\d+)\.g\d+$", name).group(1))


def what_is_lost(run_folder, names):
    """Why a run does not hold what was promised: checkpoints of these `names`, or others under a final name, that do not
    verify, or an older or partial one that is taken for the newest. "" where all is well."""
    paths = [os.path.join(run_folder, "checkpoints", name) for name in sorted({*names, *final_names(run_folder)})]
    if paths:
        verified = tool("dt-checkpoint", "verify", "--quiet", *paths)
        if verified.code != 0:
            return f"{names} were announced, and do not all verify, or others do not: {verified}"
    latest = tool("dt-checkpoint", "latest", run_folder)
    if latest.code == 3 and not paths:
        return ""
    if latest.code != 0:
        return f"no latest checkpoint: {latest}"
    newest = latest.stdout.strip()
    if newest not in paths:
        return f"{newest} is taken, which is not under a final name"
    if names and step_of(os.path.basename(newest)) < max(step_of(name) for name in names):
        return f"{newest} is older than the announced {names}"
    return ""


def final_names(run_folder):
    return sorted(os.path.basename(p) for p in glob.glob(os.path.join(run_folder, "checkpoints", "step-*")))


def same_weights(run_folder, other):
    """Of the newest checkpoints of two runs."""
    a, b = (tool("dt-checkpoint", "latest", r).stdout.strip() for r in (run_folder, other))
    compared = tool("dt-checkpoint", "diff", "--quiet", a, b)
    return step_of(os.path.basename(a)) == step_of(os.path.basename(b)) and compared.code == 0


def fresh_copy(source, target):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True)
    return target
