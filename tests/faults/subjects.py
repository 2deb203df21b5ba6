"""What is disturbed: programs that save checkpoints into ./root/run, by a name such as self, threads=2, mpi=4, writers=3;
mpi=4:2 are ranks that write two files together; writers=3:2 have an index of pieces, since they have more than 2 files."""

import json
import os
import random
import subprocess

import faults

MODEL = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 320, "max_position_embeddings": 32,
         "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": True, "initializer_range": 0.02}
# The launcher of the tools' MPI (tests/cmd/ranks.sh).
MPIRUN = [os.environ.get("DT_MPIEXEC", "mpirun"),
          *(["--oversubscribe", "--bind-to", "none"] if os.environ.get("DT_MPI", "openmpi") == "openmpi" else []), "-n"]


def prepare():
    """A model, and data to train it on, in the working folder."""
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with open("model.json", "w") as file:
        json.dump(MODEL, file)
    words = random.Random(7)
    with open("text.txt", "w") as file:
        file.write(" ".join(words.choice(["the", "quick", "brown", "fox", "jumps", "over"]) for _ in range(6000)))
    subprocess.run(["dt-shard-data", "--quiet", "--out", "shards", "--val-fraction", "0.1", "text.txt"], check=True,
                   stdout=subprocess.DEVNULL)


def ranks_of(launcher):
    """The processes of dt-train that a launcher started, by itself or, as MPICH's does, through a proxy."""
    proxies = faults.tool("pgrep", "-P", str(launcher)).stdout.split()
    return [int(rank) for rank in faults.tool("pgrep", "-P", ",".join([str(launcher), *proxies]), "-x", "dt-train").stdout.split()]


def command(kind, run, steps, *options, save_every=1):
    """That trains, or pretends to, in the folder `run` up to step `steps`, and saves after each, or as the trainer is told."""
    kind, _, files = kind.partition(":")
    name, _, count = kind.partition("=")
    if name == "writers":
        return ["save_checkpoints", run, str(steps), f"{count}:{files}" if files else count, *options]
    train = ["dt-train", "--quiet", "--model", "model.json", "--data", "shards", "--run", run, "--steps", str(steps),
             "--save-every", str(save_every), "--sequence-length", "32", "--global-batch", "8", "--micro-batch", "1", "--lr", "1e-3",
             "--schedule", "constant", "--warmup-steps", "0", "--grad-lanes", "4", "--threads", "1", "--peak-flops", "1e9",
             "--eval-batches", "1", "--comm-timeout", "60s", *options]
    if files:
        train += ["--checkpoint-writers-per-node", files]
    if name == "mpi":
        return MPIRUN + [count] + train
    return train + ["--comm", kind]


class Subject:
    """In a working folder of its own: a run with step 1 saved in ./base, and one that went on to step 2 undisturbed in ./whole."""

    def __init__(self, kind):
        self.kind = kind
        os.makedirs(kind)
        os.chdir(kind)
        prepare()
        os.mkdir("base")
        first = faults.tool(*command(kind, "base/run", 1))
        if first.code != 0:
            faults.fail(f"{kind}: the undisturbed start: {first}")
        faults.fresh_copy("base", "whole")
        faults.fresh_copy("base", "root")
        second = faults.tool(*command(kind, "whole/run", 2))
        if second.code != 0:
            faults.fail(f"{kind}: the undisturbed save: {second}")

    def save(self, **orders):
        """Step 2 with faults, on a fresh copy of the run."""
        faults.fresh_copy("base", "root")
        return faults.run(command(self.kind, "root/run", 2), "root", **orders)

    def count(self, **orders):
        """How many operations match in an undisturbed save."""
        outcome = self.save(**orders)
        if outcome.code != 0 or outcome.matched == 0:
            faults.fail(f"{self.kind}: an undisturbed save under the injector: {outcome}")
        return outcome.matched

    def check_kept(self, where):
        """Nothing that was announced is lost, nothing partial is taken."""
        lost = faults.what_is_lost("root/run", faults.announced("root/run"))
        if lost:
            faults.fail(f"{self.kind}: {where}: {lost}")

    def check_resumes(self, where):
        """The run goes on and ends with the weights of the undisturbed one, and cleans up."""
        resumed = faults.tool(*command(self.kind, "root/run", 2))
        if resumed.code != 0:
            faults.fail(f"{self.kind}: {where}: does not go on: {resumed}")
        if not faults.same_weights("root/run", "whole/run"):
            faults.fail(f"{self.kind}: {where}: ends with other weights than the undisturbed run")
