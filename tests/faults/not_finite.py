"""not_finite.py COUNT [SEED]: COUNT starts, at random steps, of runs that keep one checkpoint (--keep-last 1), whose loss or gradients
become infinite or NaN: by a learning rate under which the weights explode after a few steps or at once, or by a loss scale that fp16
does not bear. One in eight is killed at a random moment on top of it. fp32, bf16 and fp16; one to three ranks as threads, ZeRO,
pipelines. After each the newest checkpoint whose loss was finite must be there, a resume takes it and no other, and
what the message advises must work."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import faults
import subjects

BASE_STEPS = 8
MOST_STEPS = 24  # of a start that explodes; one that does not until then is no injection
LAYOUTS = [["self"], ["threads=2"], ["threads=2", "--zero", "1"], ["threads=3", "--zero", "3"], ["threads=2", "--pp", "2"]]


def train(run, steps, options, kill_after_s=None):
    chosen = {"--lr": "1e-3", "--save-every": "1", "--keep-last": "1", **options}
    command = ["dt-train", "--quiet", "--model", "model.json", "--data", "shards", "--run", run, "--steps", str(steps),
               "--sequence-length", "16", "--global-batch", "6", "--micro-batch", "1", "--schedule", "constant", "--warmup-steps", "0",
               "--threads", "1", "--peak-flops", "1e9", "--eval-batches", "1"]
    for name, value in chosen.items():
        command += [name] if value is None else [name, value]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        process.kill()
    _, stderr = process.communicate(timeout=300)
    return process.returncode, stderr


def make_bases():
    """A sound run of each precision, with a checkpoint of each step."""
    for precision in ["fp32", "bf16", "fp16"]:
        code, stderr = train(precision, BASE_STEPS, {"--precision": precision, "--keep-last": str(BASE_STEPS)})
        if code != 0:
            faults.fail(f"the base run in {precision}: {stderr}")


def begin(precision, step):
    """The base run as --keep-last 1 has it at a step."""
    shutil.rmtree("run", ignore_errors=True)
    shutil.copytree(precision, "run", ignore=lambda folder, names: [n for n in names if os.path.basename(folder) == "checkpoints"])
    name = f"step-{step:08}.g1"
    shutil.copytree(f"{precision}/checkpoints/{name}", f"run/checkpoints/{name}")


def steps_made():
    """The last step of the newest generation."""
    last = None
    for line in open("run/metrics.jsonl"):
        record = json.loads(line)
        if record["kind"] in ("resume", "train"):
            last = record["step"]
    return last


def steps_skipped():
    """In fp16, of all starts: their gradients were not finite, so none of them lets older checkpoints go."""
    return sum(record["kind"] == "train" and record["grad_norm"] is None for record in map(json.loads, open("run/metrics.jsonl")))


def checkpoints():
    return sorted(n for n in os.listdir("run/checkpoints") if re.fullmatch(r"step-\d+\.g\d+", n))


def step_of(name):
    return int(re.search(r"step-(\d+)\.g", name).group(1))


def latest():
    return step_of(faults.tool("dt-checkpoint", "latest", "run").stdout)


def layout(rng):
    words = rng.choice(LAYOUTS)
    return dict(zip(["--comm"] + words[1::2], [words[0]] + words[2::2]))


def injection(rng):
    """Precision and options of a start that fails."""
    precision = rng.choice(["fp32", "bf16", "fp16"])
    kind = rng.choice(["slow", "fast", "extreme"] + ["scale"] * (precision == "fp16"))
    exponent = {"slow": (-0.5, 2.5), "fast": (2.5, 5), "extreme": (5, 38), "scale": (6, 9)}[kind]
    number = f"{10 ** rng.uniform(*exponent):.3g}"
    options = {"--precision": precision, ("--loss-scale" if kind == "scale" else "--lr"): number,
               "--save-every": str(rng.choice([1, 1, 2, 3])), **layout(rng)}
    if rng.random() < 0.3:
        options["--no-background-save"] = None
    return kind, options


def check(first, options, stderr):
    """What the failed start left; the options that its message advises."""
    every = int(options["--save-every"])
    made = steps_made()
    saved = [first] + [s for s in range(first + 1, made + 1) if s % every == 0]
    if "are saved in" in stderr:  # gradients; the weights are good
        good = made
        if options.get("--loss-scale"):
            advised = {"--loss-scale": "128"}
        else:
            advised = {"--resume": re.search(r"start again with --resume (\S+) and a lower --lr", stderr).group(1)}
            if step_of(advised["--resume"]) >= made:
                faults.fail(f"the advice names the checkpoint itself: {stderr}")
    else:
        good = max(s for s in saved if s < made)
        advised = {"--resume": re.search(r"start again with --resume (\S+) and a lower --lr", stderr).group(1)}
        if step_of(advised["--resume"]) != good:
            faults.fail(f"step {good} is the newest good one: {stderr}")
        marked = [n for n in os.listdir("run/checkpoints") if n.endswith(".not-finite.json")]
        if [step_of(n) for n in marked] != [s for s in saved if s == made]:
            faults.fail(f"marked: {marked}; saved: {saved}, made: {made}: {stderr}")
    if latest() != good:
        faults.fail(f"step {good} is the newest good one, not {latest()}: {checkpoints()}: {stderr}")
    if len(checkpoints()) > 3 + steps_skipped():
        faults.fail(f"too many are left: {checkpoints()}")
    return advised


def goes_on(options, counts):
    """By a step with a learning rate that changes nothing. Weights that were on the way to explosion may give the step's samples
    a finite loss and the validation's none: the step has been made all the same, and the run says which checkpoint is good."""
    target = 1 + (step_of(options["--resume"]) if "--resume" in options else latest())
    code, stderr = train("run", target, {"--lr": "1e-12", **options})
    if code == 3 and re.search(f"the (validation loss|loss of the weights) of step {target} is", stderr) and latest() < target:
        counts["beyond", "validation"] = counts.get(("beyond", "validation"), 0) + 1
        code = 0
    return code, stderr


def trial(rng, counts):
    kind, options = injection(rng)
    first = rng.randint(1, BASE_STEPS)
    begin(options["--precision"], first)
    is_killed = rng.random() < 0.125
    code, stderr = train("run", first + MOST_STEPS, options, rng.uniform(0.02, 0.4) if is_killed else None)
    if code == 0:
        return False
    keep = {"--precision": options["--precision"], **layout(rng)}
    if code == -9:
        kind = "killed"
        code, stderr = goes_on(keep, counts)
        if code == 3:  # what was saved last had not been proven; now it is marked, and the next start passes it over
            if "are saved in" in stderr:
                keep["--resume"] = re.search(r"start again with --resume (\S+) and a lower --lr", stderr).group(1)
            code, stderr = goes_on(keep, counts)
    elif code == 3 and re.search("gradient norm .*: not finite|is (nan|-?inf)", stderr):
        advised = check(first, options, stderr)
        if "--resume" in advised and "is marked" in stderr and rng.random() < 0.5:
            advised = {}  # --resume auto finds the same
        code, stderr = goes_on({**keep, **advised}, counts)
    else:
        faults.fail(f"exit {code} of {options}: {stderr}")
    if code != 0:
        faults.fail(f"{options}, then {keep}: exit {code}: {stderr}; left: {os.listdir('run/checkpoints')}")
    counts[options["--precision"], kind] = counts.get((options["--precision"], kind), 0) + 1
    return True


def main():
    count = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rng = random.Random(seed)
    subjects.prepare()
    make_bases()
    counts, done = {}, 0
    while done < count:
        state = rng.getstate()
        try:
            done += trial(rng, counts)
        except SystemExit:
            print(f"injection {done + 1} of seed {seed}", file=sys.stderr)
            raise
    print(f"{done} injections: " + ", ".join(f"{p} {k} {n}" for (p, k), n in sorted(counts.items())))


main()
