"""full_disks.py KIND STEP_KIB: file systems and limits without room for a second checkpoint, by STEP_KIB KiB less each time: a small tmpfs
and one that turns read-only (both as root), and a limit on file sizes. Each is reported with a path and exit 4; the first checkpoint
stays and verifies, nothing is committed."""

import os
import resource
import shutil
import signal
import subprocess
import sys

import faults
import subjects


def check(subject, outcome, text, where):
    if outcome.code != 4 or text not in outcome.stderr or "root/run" not in outcome.stderr:
        faults.fail(f"{subject.kind}: {where}: not exit 4 with '{text}' and a path: {outcome}")
    if outcome.stderr.count("error: ") != 1:
        faults.fail(f"{subject.kind}: {where}: more than one message: {outcome}")
    subject.check_kept(where)
    if faults.final_names("root/run") != ["step-00000001.g1"]:
        faults.fail(f"{subject.kind}: {where}: left {faults.final_names('root/run')}")


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


def full(subject, step_kib):
    """A second save needs about as much again as the base holds."""
    base_kib = bytes_below("base") // 1024
    shutil.rmtree("root", ignore_errors=True)
    failures = 0
    for kib in range(2 * base_kib + 128, base_kib, -step_kib):
        os.mkdir("root")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", "root"], capture_output=True)
        if mounted.returncode != 0:
            os.rmdir("root")
            return "this machine does not let root mount a tmpfs"
        try:
            if subprocess.run(["cp", "-r", "base/run", "root/"], capture_output=True).returncode != 0:
                break  # not even the base fits
            outcome = faults.tool(*subjects.command(subject.kind, "root/run", 2))
            if outcome.code != 0:
                failures += 1
                check(subject, outcome, "No space left", f"a disk of {kib} KiB")
            subject.check_kept(f"a disk of {kib} KiB")
        finally:
            subprocess.run(["umount", "-l", "root"], check=True)
            os.rmdir("root")
    if failures == 0:
        faults.fail("no disk was small enough")
    print(f"{subject.kind}: {failures} sizes of a full disk: each reported, nothing lost")
    return ""


def read_only(subject):
    """The file system turns read-only under a run that goes on."""
    os.makedirs("root", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "root"], check=True)
    try:
        subprocess.run(["cp", "-r", "base/run", "root/"], check=True)
        subprocess.run(["mount", "-o", "remount,ro", "root"], check=True)
        check(subject, faults.tool(*subjects.command(subject.kind, "root/run", 2)), "Read-only file system", "read-only")
    finally:
        subprocess.run(["umount", "-l", "root"], check=True)
        os.rmdir("root")
    print(f"{subject.kind}: a read-only file system is reported")


def limited(subject, step_kib):
    """ulimit -f; Python ignores its signal, and a process that it starts would inherit that."""
    largest = max(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk("base/run/checkpoints")
                  for name in names)
    failures = 0
    # Smaller files of a start come first: run.json, the generation's.
    for size in range(largest - 1, 4096, -step_kib * 1024):
        faults.fresh_copy("base", "root")

        def limit(size=size):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        process = subprocess.run(subjects.command(subject.kind, "root/run", 2), capture_output=True, text=True,
                                 preexec_fn=limit)
        check(subject, faults.Outcome(process.returncode, process.stdout, process.stderr, 0), "File too large",
              f"files of at most {size} bytes")
        failures += 1
    print(f"{subject.kind}: {failures} limits on file sizes: each reported, nothing lost")


def main():
    subject, step_kib = subjects.Subject(sys.argv[1]), int(sys.argv[2])
    if not sys.argv[1].startswith("mpi"):  # whose own shared memory is files, too
        limited(subject, step_kib)
    if os.geteuid() != 0:
        print("SKIP: mounting small file systems needs root")
        return
    why_not = full(subject, step_kib)
    if why_not:
        print("SKIP: " + why_not)
        return
    read_only(subject)


main()
