"""refusals.py EVERY [SUBJECT...]: the system refuses every EVERYth open, read, listing or look of a tool's work, or lets it have only so
many threads: permissions (EACCES), limits (EMFILE, EAGAIN), a file that its server has replaced (ESTALE).

The tool must end with exit 4, saying why in the system's words, or do without and leave the same result, but for leftovers that it warns of.
Nothing may be called damage, bad input or a bug in dt."""

import errno
import hashlib
import os
import re
import sys

import faults
import subjects

STEP1, STEP2 = "root/run/checkpoints/step-00000001.g1", "root/run/checkpoints/step-00000002.g2"
BLAMED = re.compile("internal error|bug in dt|damaged|terminate called|libgomp|is missing|does not exist|not a checkpoint")
# Said, with the reason, by a tool that goes on with less.
GOES_WITHOUT = re.compile("warning: .*the tokenizer was not exported")
# Timings, secrets, what ranks leave for each other while they live, and temporaries and folders of empty stores that may not be removed.
VARYING = re.compile(r"metrics[.]jsonl|manifest[.]json|run[.]json|generations|unit_times|/flight|/local-\d+[.]key|/local/.*/run$|[.]failed-loads|/[.][^/]*[.]tmp-[^/]*$")

TRAIN = ["dt-train", "--quiet", "--data", "root/shards", "--threads", "3", "--global-batch", "8", "--micro-batch", "4",
         "--sequence-length", "32", "--peak-flops", "1e9", "--eval-batches", "1", "--comm", "self"]
SUBJECTS = {
    "shard-data": ["dt-shard-data", "--quiet", "--threads", "3", "--tokenizer", "root/tokenizer.json", "--out", "root/made", "root/text.txt"],
    "train-bpe": ["dt-shard-data", "--quiet", "--threads", "3", "--train-bpe", "300", "--save-tokenizer", "root/made.json", "root/text.txt"],
    "shard-verify": ["dt-shard-data", "--verify", "root/shards"],
    "shard-decode": ["dt-shard-data", "--decode", "root/shards/train-00000.h5:0:20"],
    "train": [*TRAIN, "--model", "root/model.json", "--run", "root/new", "--steps", "1", "--save-every", "1"],
    "resume": [*TRAIN, "--run", "root/run", "--steps", "3", "--save-every", "1"],
    "thread-ranks": [*TRAIN[:-1], "threads=2", "--run", "root/run", "--steps", "3", "--save-every", "1", "--checkpoint-local", "root/local"],
    "evaluate": ["dt-train", "--quiet", "--data", "root/shards", "--threads", "3", "--micro-batch", "4", "--sequence-length", "32",
                 "--comm", "self", "--eval-batches", "4", "--eval-only", "--init-from", STEP2],
    "list": ["dt-checkpoint", "list", "root/run"],
    "latest": ["dt-checkpoint", "latest", "root/run"],
    "show": ["dt-checkpoint", "show", STEP2],
    "verify": ["dt-checkpoint", "verify", STEP1, STEP2],
    "diff": ["dt-checkpoint", "diff", STEP2, STEP2],
    "prune": ["dt-checkpoint", "prune", "root/run", "--keep-last", "1"],
    "reshard": ["dt-checkpoint", "reshard", STEP2, "root/resharded", "--layout", "tp=2"],
    "repair": ["dt-checkpoint", "repair", STEP2, "--from", "root/copy/step-00000002.g2"],
    "import": ["dt-checkpoint", "import", "root/model", "root/imported"],
    "merge": ["dt-merge", "--quiet", STEP2, "--out", "root/merged"],
    "merge-h5": ["dt-merge", "--quiet", STEP2, "--out", "root/merged.h5"],
    "bench": ["dt-allreduce-bench", "-e", "64", "-n", "1", "-w", "0", "--devices", "--csv", "root/bench.csv"],
}


def prepare():
    """Everything that a subject reads, in ./base."""
    os.environ["GOMP_SPINCOUNT"] = "1000"  # else dt-train starts over with it
    subjects.prepare()
    os.mkdir("base")
    for name in ("model.json", "text.txt"):
        os.rename(name, "base/" + name)
    os.symlink("base", "root")
    check(["dt-shard-data", "--quiet", "--train-bpe", "300", "--save-tokenizer", "root/tokenizer.json", "root/text.txt"])
    check(["dt-shard-data", "--quiet", "--val-fraction", "0.1", "--out", "root/shards", "root/text.txt"])
    for steps in "1", "2":
        check([*TRAIN, "--model", "root/model.json", "--run", "root/run", "--steps", steps, "--save-every", "1"])
    check(["dt-merge", "--quiet", STEP2, "--out", "root/model"])
    os.mkdir("root/copy")
    faults.fresh_copy(STEP2, "root/copy/step-00000002.g2")
    os.remove("root")


def check(command):
    outcome = faults.tool(*command)
    if outcome.code != 0:
        faults.fail(f"{command}: {outcome}")


def left():
    """Every file under root that does not vary by itself: its name and digest."""
    found = {}
    for folder, _, names in os.walk("root"):
        for name in names:
            path = os.path.join(folder, name)
            if not VARYING.search(path):
                with open(path, "rb") as file:
                    found[path] = hashlib.sha256(file.read()).hexdigest()
    if "root/bench.csv" in found:
        found["root/bench.csv"] = ""
    return found


class Subject:
    def __init__(self, name):
        self.name, self.command = name, SUBJECTS[name]
        whole = self.run(kinds="none")
        if whole.code != 0:
            faults.fail(f"{name}: undisturbed: {whole}")
        self.whole = left()
        self.refused = self.did_without = 0

    def run(self, everywhere=False, **orders):
        faults.fresh_copy("base", "root")
        return faults.run(self.command, "/" if everywhere else "root", **orders)

    def check(self, outcome, error, where):
        said = outcome.stdout + outcome.stderr
        if BLAMED.search(said):
            faults.fail(f"{self.name}: {where}: is blamed on something else: {outcome}")
        if outcome.code == 4 and os.strerror(error) in said:
            self.refused += 1
            return
        now = left()
        differ = sorted(path for path in now.keys() | self.whole.keys() if now.get(path) != self.whole.get(path))
        is_warned = "warning: " in said and os.strerror(error) in said
        may_differ = is_warned and (GOES_WITHOUT.search(said) or not self.whole.keys() & differ)  # what it warns of may stay behind
        if outcome.code == 0 and (not differ or may_differ):
            self.did_without += 1
        else:
            faults.fail(f"{self.name}: {where}: neither exit 4 with '{os.strerror(error)}' nor the same result ({differ} differ): {outcome}")

    def sweep(self, kinds, error, every, lasting=False, **orders):
        matched = self.run(kinds=kinds, **orders).matched
        for n in range(1, matched + 1, every):
            last = {} if lasting else {"last": n}
            outcome = self.run(kinds=kinds, action=f"fail={error}", first=n, **last, **orders)
            self.check(outcome, error, f"{errno.errorcode[error]} at {kinds} {n}{' and after' if lasting else ''}")

    def limit_threads(self, every):
        most = 1
        while True:
            outcome = self.run(kinds="thread", action=f"fail={errno.EAGAIN}", max_threads=most)
            if outcome.matched == 0:
                break
            self.check(outcome, errno.EAGAIN, f"at most {most} threads")
            if outcome.code == 4 and not re.search("ulimit -u|pids.max", outcome.stderr):
                faults.fail(f"{self.name}: at most {most} threads: the limit is not named: {outcome}")
            most += every


def main():
    every = int(sys.argv[1])

    def every_times(factor):
        """Selects fewer of the many operations that are alike, unless all are asked for."""
        return 1 if every == 1 else factor * every

    prepare()
    for name in sys.argv[2:] or SUBJECTS:
        subject = Subject(name)
        subject.sweep("open,list", errno.EACCES, every)
        subject.sweep("look", errno.EACCES, every)
        subject.sweep("read,map", errno.EACCES, every_times(2))
        subject.sweep("open,list,create", errno.EMFILE, every_times(2), everywhere=True)
        subject.sweep("open,list,create", errno.EMFILE, every_times(3), lasting=True)
        subject.sweep("create,mkdir,rename,link,write,unlink", errno.EACCES, every_times(4))
        subject.sweep("open,read", errno.ESTALE, every_times(2))
        subject.limit_threads(max(1, every // 8))
        if subject.refused == 0:
            faults.fail(f"{name}: nothing was refused: the faults do not reach it")
        print(f"{name}: {subject.refused} refusals told, {subject.did_without} done without")


main()
