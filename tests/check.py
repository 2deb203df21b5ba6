#!/usr/bin/env python3
"""check.py BUILD TEST: builds what one test needs, and runs it. TEST is one of

  data                    the cases of a module, but the slow ones
  data/loader             the cases of tests/data/loader_test.cpp
  data/[slow]             the cases of a module that have a tag
  'data/a loader *'       the cases of a module by name
  dt-train/resume         a case of tests/cmd or tests/slurm/cases
  comm_mpi_3              any other name that ctest -N lists
  'dt-checkpoint/prune*'  all of the above whose names match

A file's path stands for the name of its test. Exit codes: 0 passed or skipped, 1 failed, 2 there is no such test."""

import difflib
import fnmatch
import json
import os
import re
import subprocess
import sys

TESTS = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def ctest(build, *options):
    return ["ctest", "--test-dir", build, "--no-tests=error", *options]


def unit_files(ninja):
    """Maps each file of unit cases, as data/loader, to the program that holds it and to Catch2's tag for it."""
    files = {}
    for module, path in re.findall(r"^build tests/CMakeFiles/(?:cases|test)_(\w+)\.dir/(\S+)_test\.cpp\.o:", ninja, re.M):
        # The programs of MPI and PTX hold files that are cases of another program, too.
        if path not in files or module not in ("comm_mpi", "ptx"):
            files[path] = ("test_" + module, f"[#{os.path.basename(path)}_test]")
    return files


def scripts_of(script):
    """Returns a script, the scripts that it names, those that they name, and so on."""
    known = [os.path.join(folder, file) for root in (TESTS, os.path.join(TESTS, "../jobs"))
             for folder, _, files in os.walk(root) for file in files if re.search(r"\.(sh|py|sbatch)$", file)]
    found, waiting = set(), [script]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        code = re.sub(r"^\s*#.*", "", read(path), flags=re.M)
        imported = [name + ".py" for name in re.findall(r"^(?:from|import) (\w+)", code, re.M)]
        for name in imported + re.findall(r"[\w./-]+\.(?:sh|py|sbatch)\b", code):
            end = "/" + re.sub(r"^(\.*/)*", "", name)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name.lstrip("/")))
            waiting += [beside] if beside in known else [file for file in known if file.endswith(end)]
    return found


def targets_of(test, build, ninja):
    """Returns what to build for a test of ctest's: the programs and libraries of the build that it names."""
    built = re.findall(r"^build ((?:bin|lib)/[\w.-]+)(?: \S+)*: CXX_(?:EXECUTABLE|SHARED_LIBRARY)_LINKER", ninja, re.M)
    command = test.get("command")
    if command is None:  # CMake does not tell the command of a program that is not built yet
        return ["unit_tests"]
    words = [os.path.basename(word) for word in command if word.startswith(os.path.abspath(build))]
    scripts = [word for word in command if word.endswith(".sh")]
    for script in scripts:
        for text in map(read, scripts_of(script)):
            words += re.findall(r"[\w.*-]+", text)
    patterns = {word for word in words if len(word) > 3}  # not a bare *
    return ["tools"] * bool(scripts) + [target for target in built
                                        if any(fnmatch.fnmatch(os.path.basename(target), word) for word in patterns)]


def select(name, tests, files, programs):
    """Returns the tests of ctest's and the [program, specification] pairs of Catch2's that a name stands for."""
    if name in tests:
        return [name], []
    if name in files:
        return [], [files[name]]
    module, _, rest = name.partition("/")
    if module in programs and re.search(r"[\[ ]", rest):
        return [], [("test_" + module, rest)]
    return fnmatch.filter(tests, name), [files[file] for file in fnmatch.filter(files, name)]


def main():
    if len(sys.argv) != 3 or not sys.argv[2]:
        sys.exit("usage: make check T=TEST\n" + __doc__.split("\n", 1)[1])
    build, name = sys.argv[1:]
    name = re.sub(r"^(\./)?tests/|(_test\.cpp|\.sh)$", "", name)
    name = re.sub(r"^cmd/|(?<=^slurm/)cases/", "", name)
    ninja = read(os.path.join(build, "build.ninja"))
    listed = subprocess.run(ctest(build, "--show-only=json-v1"), check=True, capture_output=True, text=True).stdout
    tests = {test["name"]: test for test in json.loads(listed)["tests"]}
    files = unit_files(ninja)
    cases, units = select(name, tests, files, {program[5:] for program, _ in files.values()})
    if not cases and not units:
        known = [*tests, *files]
        near = [other for other in known if name in other][:5] or difflib.get_close_matches(name, known, 5, 0.5)
        print(f"there is no test {name}" + (f"; did you mean {' or '.join(near)}?" if near else ""), file=sys.stderr)
        sys.exit(2)

    targets = {target for case in cases for target in targets_of(tests[case], build, ninja)} | {program for program, _ in units}
    if targets:
        quiet = subprocess.run(["cmake", "--build", build, "--target", *sorted(targets)], capture_output=True, text=True)
        if quiet.returncode:
            sys.exit(quiet.stdout + quiet.stderr)
    failed = False
    if cases:
        names = "|".join(re.escape(case) for case in cases)
        failed |= subprocess.run(ctest(build, "--output-on-failure", "-R", f"^({names})$")).returncode != 0
    for program in sorted({program for program, _ in units}):
        specification = ",".join(rest for other, rest in units if other == program)
        command = [os.path.join(build, "bin", program), "--filenames-as-tags", "--warn", "NoTests", specification]
        print(program, specification, flush=True)
        failed |= subprocess.run(command).returncode != 0
    sys.exit(1 if failed else 0)


main()
