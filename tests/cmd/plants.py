#!/usr/bin/env python3
"""Plants of another user at the names that dt's tools make and open in shared folders.

    plants.py COUNT [SEED]

One user, the victim, runs a tool in folders to which another user, the attacker, may write. Before each run something lies
where the tool will make or open a name: a link into the victim's private folder, a foreign folder or file, a pipe, a socket,
a device. The names are those that strace sees the tool use where nothing is planted. Afterwards the victim's private files
and what was planted must be as before, what the tool has made must be what it makes without the plant and belong to the
victim, and an error must have one of the documented exit codes.

Runs as root, which acts as the two users. The tools run in a PID namespace, so that names with process numbers can be told
before. Exit 77: the machine does not let us.
"""

import collections
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

VICTIM, ATTACKER = 60001, 60002
LIMIT_S = 30
OUTCOMES = (0, 3, 4, 5)  # done; input; environment; verification
CALLS = "%file"
TOOLS = ("dt-shard-data", "dt-train", "dt-checkpoint", "dt-merge", "dt-allreduce-bench")
SMALL = ["--model", "llama-tiny", "--sequence-length", "16", "--global-batch", "2", "--micro-batch", "2", "--lr", "1e-3",
         "--threads", "1", "--peak-flops", "1e9", "--eval-batches", "1", "--schedule", "constant"]


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def as_user(user, action, *arguments):
    """Calls action(*arguments) as a user, in a process of its own; false where that fails."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os.umask(0)
            action(*arguments)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def give(path, user):
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            os.lchown(os.path.join(folder, name), user, user)
    os.lchown(path, user, user)


def content(path):
    """A digest of what a name is, through no link."""
    status = os.lstat(path)
    digest = hashlib.sha256(repr((stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_uid)).encode())
    if stat.S_ISLNK(status.st_mode):
        digest.update(os.readlink(path).encode())
    elif stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            digest.update(file.read())
    elif stat.S_ISDIR(status.st_mode):
        for name in sorted(os.listdir(path)):
            digest.update(name.encode() + content(os.path.join(path, name)).encode())
    return digest.hexdigest()


class Scenario:
    """A command of a tool. `state` names what lies in the shared folder before it, of the victim's; `outputs` are the names
    there that it is asked to make or replace; `shared` are folders of the state to which the attacker may write."""

    def __init__(self, name, command, state=(), outputs=(), shared=(), exact=()):
        self.name, self.command, self.state, self.outputs = name, command, state, outputs
        self.shared, self.exact = shared, exact or outputs
        self.is_storage = "--checkpoint-local" in command or "--stage-dir" in command
        self.names, self.reference = [], None


def scenarios():
    data = ["--data", "in/data"]
    train = ["dt-train", *SMALL, *data, "--steps", "2"]
    again = ["dt-train", *SMALL, *data, "--steps", "3"]
    checkpoint = "in/run/checkpoints/step-00000002.g1"
    run_shared = ("run", "run/checkpoints", "run/generations")
    make = ["dt-shard-data", "--quiet", "--val-fraction", "0.2", "in/text"]
    return [
        Scenario("dataset", [*make, "--out", "shared/data"], outputs=["data"]),
        Scenario("dataset resumed", [*make, "--out", "shared/data", "--resume"], outputs=["data"]),
        Scenario("dataset replaced", [*make, "--out", "shared/data", "--overwrite"], ["data"], ["data"]),
        Scenario("dataset deduplicated", [*make, "--out", "shared/data", "--deduplicate", "--shuffle"], outputs=["data"]),
        Scenario("tokenizer", ["dt-shard-data", "--quiet", "--train-bpe", "270", "--save-tokenizer", "shared/t.json", "in/text"],
                 outputs=["t.json"]),
        Scenario("run", [*train, "--run", "shared/run"], outputs=["run"]),
        Scenario("run in an open folder", [*train, "--run", "shared/run"], ["empty:run"], ["run"], ["run"]),
        Scenario("run resumed", [*again, "--run", "shared/run"], ["run"], ["run"], run_shared),
        Scenario("run saved on nodes", [*train, "--run", "private/run", "--checkpoint-local", "shared/local",
                                        "--save-every", "1", "--flush-every", "2"], outputs=["local"], exact=["../private/run"]),
        Scenario("run with staged data", [*train, "--run", "private/run", "--stage-dir", "shared/stage"],
                 outputs=["stage"], exact=["../private/run"]),
        Scenario("run profiled", [*train, "--run", "shared/run", "--profile", "1-2"], outputs=["run"]),
        Scenario("logits", ["dt-train", "--eval-only", *data, "--init-from", checkpoint, "--sequence-length", "16",
                            "--micro-batch", "1", "--threads", "1", "--eval-batches", "1", "--logits-out", "shared/logits.h5"],
                 outputs=["logits.h5"]),
        Scenario("drawing", ["dt-train", "--model", "llama-tiny", "--micro-batch", "1", "--global-batch", "2", "--steps", "1", *data, "--show-schedule", "--svg", "shared/s.svg"],
                 outputs=["s.svg"]),
        Scenario("merged", ["dt-merge", "--quiet", checkpoint, "--out", "shared/model.h5"], outputs=["model.h5"]),
        Scenario("merged folder", ["dt-merge", "--quiet", checkpoint, "--out", "shared/model"], outputs=["model"]),
        Scenario("merged folder replaced", ["dt-merge", "--quiet", checkpoint, "--out", "shared/model", "--overwrite"],
                 ["model"], ["model"]),
        Scenario("resharded", ["dt-checkpoint", "reshard", "--quiet", checkpoint, "shared/re", "--layout", "dp=2,zero=1"],
                 outputs=["re"]),
        Scenario("resharded, replaced", ["dt-checkpoint", "reshard", "--quiet", checkpoint, "shared/re", "--layout", "dp=2,zero=1",
                                         "--overwrite"], ["re"], ["re"]),
        Scenario("imported", ["dt-checkpoint", "import", "--quiet", "in/model", "shared/imported"], outputs=["imported"]),
        Scenario("pruned", ["dt-checkpoint", "prune", "shared/run", "--keep-last", "2"], ["longrun:run"], ["run"], run_shared),
        Scenario("repaired", ["dt-checkpoint", "repair", "shared/run/checkpoints/step-00000002.g1", "--from", checkpoint],
                 ["damaged:run"], ["run"], run_shared),
        Scenario("bench", ["dt-allreduce-bench", "-b", "8", "-e", "8", "-n", "1", "-w", "0", "--csv", "shared/b.csv", "--json-file",
                           "shared/b.json"], outputs=["b.csv", "b.json"], exact=["none"]),
    ]


class World:
    """The folders of one trial. in/: inputs; private/: the victim's, of mode 0700; theirs/: the attacker's; shared/."""

    def __init__(self):
        self.top = tempfile.mkdtemp(prefix="dt-plants-", dir=os.environ.get("TMPDIR"))
        os.chmod(self.top, 0o755)
        self.log = os.path.join(self.top, "log")
        os.mkdir(self.path("bin"))
        for tool in TOOLS:  # the build may lie where only root can look
            shutil.copy(shutil.which(tool), self.path("bin", tool))

    def path(self, *names):
        return os.path.join(self.top, *names)

    def run(self, command, prefix=()):
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], CUDA_VISIBLE_DEVICES="",
                           OMP_WAIT_POLICY="passive")
        start = time.monotonic()
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child", "setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}",
                 "--clear-groups", "--inh-caps=-all", *prefix, *command], cwd=self.top, env=environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, umask=0o022)
            try:
                code = process.wait(timeout=60 if prefix else LIMIT_S)
            except subprocess.TimeoutExpired:
                code = None
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return code, time.monotonic() - start

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read().strip()

    def prepare(self):
        for name, user in (("in", VICTIM), ("states", VICTIM), ("private", VICTIM), ("theirs", ATTACKER)):
            os.mkdir(self.path(name))
            os.chown(self.path(name), user, user)
        os.mkdir(self.path("in/text"))
        for i in range(3):
            with open(self.path("in/text", f"{i}.txt"), "w") as file:
                file.write("".join(f"line {j} of {i}: the quick brown fox jumps\n" for j in range(40)))
        os.mkdir(self.path("theirs/text"))
        with open(self.path("theirs/text/0.txt"), "w") as file:
            file.write("another text, of other words\n" * 200)
        give(self.path("in"), VICTIM)
        make = ["dt-shard-data", "--quiet", "--val-fraction", "0.2"]
        train = ["dt-train", "--quiet", *SMALL, "--steps"]
        for command in (
                [*make, "--out", "in/data", "in/text"], [*make, "--out", "states/evil-data", "theirs/text"],
                [*train, "2", "--data", "in/data", "--run", "in/run"],
                [*train, "2", "--data", "states/evil-data", "--run", "states/evil-run", "--seed", "7"],
                [*train, "4", "--data", "in/data", "--run", "states/longrun", "--save-every", "1"],
                ["dt-merge", "--quiet", "in/run/checkpoints/step-00000002.g1", "--out", "in/model"],
                ["dt-checkpoint", "reshard", "--quiet", "in/run/checkpoints/step-00000002.g1", "states/re", "--layout", "dp=1"]):
            if self.run(command)[0] != 0:
                sys.exit(f"{command}: {self.said()}")
        shutil.copytree(self.path("in/data"), self.path("states/data"))
        shutil.copytree(self.path("in/run"), self.path("states/run"))
        shutil.copytree(self.path("in/run"), self.path("states/damaged"))
        shutil.copytree(self.path("in/model"), self.path("states/model"))
        os.mkdir(self.path("states/empty"))
        with open(self.path("states/damaged/checkpoints/step-00000002.g1/rank-00000.h5"), "r+b") as file:
            file.seek(-64, os.SEEK_END)
            file.write(b"damaged!")
        for evil in ("evil-data", "evil-run"):
            shutil.move(self.path("states", evil), self.path("theirs", evil))
        give(self.path("states"), VICTIM)
        give(self.path("theirs"), ATTACKER)
        self.put_canaries()

    def put_canaries(self):
        """Private files under names that dt would empty, fill or remove."""
        private = self.path("private")
        shutil.rmtree(private)
        shutil.copytree(self.path("states/data"), private)
        for name in ("diary", "lock", "begun.json", "metrics.jsonl", "run", "0001.lock", "dt-stage.lock"):
            with open(os.path.join(private, name), "w") as file:
                file.write(f"private {name}\n")
        os.remove(os.path.join(private, "run"))
        shutil.copytree(self.path("states/run"), os.path.join(private, "other"))
        give(private, VICTIM)
        os.chmod(private, 0o700)

    def set_up(self, scenario, mode):
        shutil.rmtree(self.path("shared"), ignore_errors=True)
        shutil.rmtree(self.path("private/run"), ignore_errors=True)
        os.mkdir(self.path("shared"))
        for state in scenario.state:
            source, _, name = state.partition(":")
            shutil.copytree(self.path("states", source), self.path("shared", name or source))
        give(self.path("shared"), VICTIM)
        for folder in scenario.shared:
            os.chmod(self.path("shared", folder), 0o777)
        os.chown(self.path("shared"), 0, 0)
        # Storage in which everybody may rename is refused.
        os.chmod(self.path("shared"), mode | (0o1000 if scenario.is_storage else 0))


TIMES = re.compile(rb'"(started|created|at|time|step_s|tokens_per_s|host|process|write_s|stall_s|[a-z_]*_s|mfu|folder|environment|path)"'
                   rb':\s*("[^"]*"|[0-9.e+-]+|\{[^}]*\})')


def made(world, scenario):
    """What a scenario has made, but for times: datasets, models and files to the byte; of a run its losses and digests."""
    result = []
    for name in scenario.exact:
        path = world.path("shared", name)
        if not os.path.lexists(path):
            result.append((name, None))
            continue
        files = [path] if not os.path.isdir(path) else sorted(
            os.path.join(folder, file) for folder, _, inner in os.walk(path) for file in inner)
        for file in files:
            if os.path.islink(file) or not os.path.isfile(file):
                continue
            inner = os.path.relpath(file, path)
            with open(file, "rb") as opened:
                text = opened.read()
            if os.path.basename(file) == "metrics.jsonl":
                lines = [json.loads(line) for line in text.splitlines() if line.strip().startswith(b"{")]
                result.append((inner, [(l["step"], l["loss"], l["data_digest"]) for l in lines if l.get("kind") == "train"]))
            elif os.path.basename(file) == "manifest.json":
                result.append((inner, re.findall(rb'"digests?": ?(?:"[^"]*"|\[[^\]]*\])', text)[:-1]))
            elif file.endswith(".h5"):
                result.append((inner, hashlib.sha256(text).hexdigest()))
            elif os.path.basename(file) in ("dataset.json", "t.json", "tokenizer.json", "config.json"):
                result.append((inner, hashlib.sha256(TIMES.sub(b"", text)).hexdigest()))
    return result


def find_names(world, scenario):
    """The names in shared/ that the tool's calls name, by strace."""
    world.set_up(scenario, 0o777)
    trace = world.path("trace")
    with open(trace, "w"):
        pass
    os.chown(trace, VICTIM, VICTIM)
    code, _ = world.run(scenario.command, ["strace", "-f", "-y", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-o", trace])
    if code != 0:
        sys.exit(f"{scenario.name}: exit {code} without a plant: {world.said()}")
    names = set()
    temporary = re.compile(rf"(\.tmp-{re.escape(socket.gethostname()[:63])})-[0-9]+(-[0-9]+)?")
    shared = world.path("shared") + "/"
    with open(trace, errors="replace") as lines:
        for line in lines:
            for folder, path in re.findall(r'(?:[(,] *(?:AT_FDCWD|[0-9]+)<([^>]*)>, *|\(|, *)"((?:[^"\\]|\\.)*)"', line):
                full = os.path.normpath(os.path.join(folder or world.top, path))
                if full.startswith(shared):
                    names.add(temporary.sub(r"\1-1", full[len(shared):]))
    scenario.names = sorted(names)
    world.set_up(scenario, 0o777)
    code, _ = world.run(scenario.command)
    if code != 0:
        sys.exit(f"{scenario.name}: exit {code} without a plant: {world.said()}")
    scenario.reference = made(world, scenario)


def plant_link(target):
    return lambda path: os.symlink(target, path)


def plant_folder(mode, source=None):
    def plant(path):
        if source and os.path.isdir(source):
            shutil.copytree(source, path)
        else:
            os.mkdir(path)
            for name in ("lock", "train-00000.h5", "diary"):
                with open(os.path.join(path, name), "w") as file:
                    file.write("theirs")
        os.chmod(path, mode)
    return plant


def plant_file(mode, source=None):
    def plant(path):
        if source and os.path.isfile(source):
            shutil.copyfile(source, path)
        else:
            with open(path, "w") as file:
                file.write('{"theirs": 1}\n')
        os.chmod(path, mode)
    return plant


def plant_socket(path):
    folder, name = os.path.split(path)
    os.chdir(folder)
    socket.socket(socket.AF_UNIX).bind(name)
    os.chmod(name, 0o777)


def evil_twin(world, name):
    """What the attacker has of the same kind."""
    for evil, part in (("evil-data", "data"), ("evil-run", "run")):
        if name == part or name.startswith(part + "/"):
            return world.path("theirs", evil, os.path.relpath(name, part))
        if name.startswith(f".{part}.partial") or name.startswith(f".{part}.replaced"):
            return world.path("theirs", evil)
    for other in (os.path.join("evil-data", os.path.basename(name)), os.path.join("evil-run", os.path.basename(name))):
        if os.path.exists(world.path("theirs", other)):
            return world.path("theirs", other)
    return None


def kinds(world, name):
    private = world.path("private")
    twin = evil_twin(world, name)
    same = os.path.join(private, os.path.basename(name))
    return {
        "link to a private folder": plant_link(private),
        "link to a private file": plant_link(same if os.path.isfile(same) else os.path.join(private, "diary")),
        "link to a private name that is free": plant_link(os.path.join(private, "new")),
        "link to nothing": plant_link("/nowhere/at/all"),
        "link to their own": plant_link(twin or world.path("theirs/text")),
        "folder": plant_folder(0o777, twin),
        "closed folder": plant_folder(0o000),
        "folder that all may read": plant_folder(0o755, twin),
        "pipe": lambda path: os.mkfifo(path, 0o666),
        "socket": plant_socket,
        "device": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5)),
        "file": plant_file(0o666, twin),
        "closed file": plant_file(0o000),
        "file of odd mode": plant_file(0o6777, twin),
        "second name of a private file": lambda path: os.link(os.path.join(private, "diary"), path),
        "locked file": plant_file(0o666),
    }


BY_ROOT = ("device", "second name of a private file")


def plant(world, kind, action, path):
    """Makes the folders above and the plant, as the attacker; false where that is not allowed."""
    parent = os.path.dirname(path)
    if not as_user(ATTACKER, lambda: os.makedirs(parent, exist_ok=True)):
        return False
    # What lies there already an attacker may remove, in a folder without a sticky bit.
    if os.path.lexists(path) and not as_user(ATTACKER, lambda: os.rename(path, os.path.join(parent, ".moved-away"))):
        return False
    if kind not in BY_ROOT:
        return as_user(ATTACKER, action, path)
    if not as_user(ATTACKER, lambda: os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o666))):
        return False
    os.remove(path)
    action(path)
    if kind == "device":
        os.lchown(path, ATTACKER, ATTACKER)
    return True


def hold(path):
    """Locks a file as the attacker, in a process that ends when it is killed."""
    return subprocess.Popen(["setpriv", f"--reuid={ATTACKER}", f"--regid={ATTACKER}", "--clear-groups", "flock", path, "sleep", "600"],
                            start_new_session=True)


def identity(path):
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def belongs_to_others(path):
    for folder, folders, files in os.walk(path):
        for name in [".", *folders, *files]:
            status = os.lstat(os.path.join(folder, name))
            if status.st_uid != VICTIM:
                return os.path.normpath(os.path.join(folder, name))
    return None


def trial(world, scenario, name, kind, mode, counts):
    world.set_up(scenario, mode)
    path = world.path("shared", name)
    if not plant(world, kind, kinds(world, name)[kind], path):
        counts["could not be planted"] += 1
        return []
    locker = hold(path) if kind == "locked file" else None
    first_foreign = path
    while os.path.dirname(first_foreign) != world.path("shared") and os.lstat(os.path.dirname(first_foreign)).st_uid == ATTACKER:
        first_foreign = os.path.dirname(first_foreign)
    before = content(first_foreign), content(world.path("private")), content(world.path("theirs")), identity(first_foreign)
    code, seconds = world.run(scenario.command)
    if locker:
        os.killpg(locker.pid, signal.SIGKILL)
        locker.wait()
    problems = []
    counts["done" if code == 0 else f"exit {code}" if code is not None else "hang"] += 1
    if code is None:
        problems.append("hang")
    elif code not in OUTCOMES:
        problems.append(f"exit {code}")
    shutil.rmtree(world.path("kept-run"), ignore_errors=True)
    if os.path.exists(world.path("private/run")):  # the victim's own output
        shutil.move(world.path("private/run"), world.path("kept-run"))
    if content(world.path("private")) != before[1]:
        problems.append("private files have changed")
        world.put_canaries()
    if content(world.path("theirs")) != before[2]:
        problems.append("the attacker's files have changed")
    if os.path.exists(world.path("kept-run")):
        shutil.move(world.path("kept-run"), world.path("private/run"))
    # A file of theirs that has the very name of an output may be replaced where the folder lets everybody do that.
    # The second name of a file of the victim's own may go like the victim's.
    is_replaced = (name in scenario.outputs or kind.startswith("second name") or
                   any(name.startswith(f"{folder}/") for folder in scenario.shared))
    if not is_replaced:
        if not os.path.lexists(first_foreign) or identity(first_foreign) != before[3]:
            problems.append("the plant was removed")
        elif content(first_foreign) != before[0]:
            problems.append("the plant was written to")
    if code == 0 and not any(name.startswith(f"{folder}/") for folder in scenario.shared):
        if made(world, scenario) != scenario.reference:
            problems.append("foreign bytes: what was made differs")
        for output in scenario.exact:
            if os.path.lexists(world.path("shared", output)) and not scenario.shared:
                other = belongs_to_others(world.path("shared", output))
                if other and not (os.path.exists(other) and identity(other) == before[3]):
                    problems.append(f"{other} belongs to another user")
    return problems


# scenario, name, kind: what was broken once.
FIXED = [
    ("dataset", ".data.partial", "link to a private folder"), ("dataset", ".data.partial", "folder"),
    ("dataset", ".data.partial/lock", "locked file"), ("dataset", ".data.replaced", "folder"),
    ("tokenizer", "*.tmp-*", "link to a private file"), ("run resumed", "run/metrics.jsonl", "link to a private file"),
    ("run resumed", "run/metrics.jsonl", "pipe"), ("run in an open folder", "run/checkpoints", "link to a private folder"),
    ("run resumed", "run/generations/0002.lock", "pipe"), ("merged folder", "*.tmp-*", "folder"),
    ("bench", "b.json", "pipe"), ("merged", "model.h5", "device"),
]


def choose_fixed(by_name):
    for scenario, name, kind in FIXED:
        found = [n for n in by_name[scenario].names if re.fullmatch(name.replace(".", r"\.").replace("*", ".*"), n)]
        if not found:
            sys.exit(f"{scenario}: no call names {name} any more; see FIXED")
        yield by_name[scenario], found[0], kind, 0o777


def choose_random(all_scenarios, count, seed):
    generator = random.Random(seed)
    for _ in range(count):
        scenario = generator.choice(all_scenarios)
        name = generator.choice(scenario.names)
        yield scenario, name, generator.choice(KINDS), generator.choice((0o1777, 0o777))


KINDS = [
    "link to a private folder", "link to a private file", "link to a private name that is free", "link to nothing",
    "link to their own", "folder", "closed folder", "folder that all may read", "pipe", "socket", "device", "file", "closed file",
    "file of odd mode", "second name of a private file", "locked file"]


def main():
    if os.geteuid() != 0:
        skip("needs root to act as two users")
    if not shutil.which("strace"):
        skip("needs strace")
    count, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    if subprocess.run(["unshare", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        skip("needs PID namespaces")
    world = World()
    counts, broken = collections.Counter(), 0
    try:
        world.prepare()
        all_scenarios = scenarios()
        by_name = {s.name: s for s in all_scenarios}
        used = {by_name[f[0]] for f in FIXED} if count == "fixed" else all_scenarios
        if os.environ.get("PLANTS_ONLY"):
            used = all_scenarios = [s for s in all_scenarios if re.fullmatch(os.environ["PLANTS_ONLY"], s.name)]
        for scenario in used:
            find_names(world, scenario)
        chosen = choose_fixed(by_name) if count == "fixed" else choose_random(all_scenarios, int(count), seed)
        for number, (scenario, name, kind, mode) in enumerate(chosen):
            problems = trial(world, scenario, name, kind, mode, counts)
            if problems or os.environ.get("PLANTS_VERBOSE"):
                broken += bool(problems)
                print(f"{number}: {scenario.name}: {kind} at {name} in a folder of mode {mode:04o}: {'; '.join(problems)}\n"
                      f"  {world.said()[-600:]}", flush=True)
    finally:
        shutil.rmtree(world.top, ignore_errors=True)
    names = sum(len(s.names) for s in used)
    print(f"{sum(counts.values())} plants at {names} names of {len(used)} commands, seed {seed}: {dict(counts)}; {broken} broken promises")
    return broken != 0


if __name__ == "__main__":
    sys.exit(main())
