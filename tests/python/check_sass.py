#!/usr/bin/env python3
"""check_sass.py FOLDER BOUNDS [--measure]: what nvcc made of the kernels for GPUs (FOLDER/*.cu.o) is what BOUNDS says, for each architecture.

A kernel uses no memory of a thread's own, no loads and stores that must find out which memory they mean, and no loops of
compare-and-swap in place of atomics. Its registers, the 16-byte accesses of its loop over memory, and the instructions of that loop for
each 16 bytes are within the kernel's row. --measure prints such rows instead. Takes cuobjdump on PATH. Exit status 1: something is not.
"""

import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

Instruction = collections.namedtuple("Instruction", "address guard opcode operands")
Figures = collections.namedtuple("Figures", "registers vectors instructions")
SASS = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*(.*?)\s*;")
CALL_COSTS = 100  # instructions: of a path that others go round


def output(*command, given=None):
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def plain_names(mangled):
    names = output("c++filt", given="\n".join(mangled)).split("\n")
    short = lambda name: re.sub(r"\(.*", "", re.sub(r"\(anonymous namespace\)::|\bdt::|\bkernels::|\bcuda::|^void ", "", name))
    return {m: short(n) for m, n in zip(mangled, names)}


def kernels_of(path, architecture):
    """Name to instructions and registers."""
    code, current = {}, None
    for line in output("cuobjdump", "-sass", "-arch", architecture, path).split("\n"):
        if "Function :" in line:
            current = code.setdefault(line.split("Function :")[1].strip(), [])
        elif current is not None and (match := SASS.match(line)):
            address, guard, opcode, operands = match.groups()
            current.append(Instruction(int(address, 16), (guard or "").strip(), opcode, operands))
    usage = {}
    for name, registers, stack in re.findall(r"Function (\S+):\s+REG:(\d+) STACK:(\d+)", output("cuobjdump", "-res-usage", "-arch", architecture, path)):
        usage[name] = (int(registers), int(stack))
    names = plain_names(list(code))
    return {names[mangled]: (instructions, *usage[mangled]) for mangled, instructions in code.items()}


def width(instruction):
    """Bytes of an access to global memory by whole vectors."""
    if not re.match(r"(LDG|STG)\.", instruction.opcode):
        return 0
    return 16 if ".128" in instruction.opcode else 8 if ".64" in instruction.opcode else 0


class Blocks:
    """A kernel's basic blocks and the ways between them."""

    def __init__(self, instructions, narrowest):
        at = {i.address: n for n, i in enumerate(instructions)}
        barriers, jumps = {}, {}
        for n, i in enumerate(instructions):
            numbers = [int(x, 16) for x in re.findall(r"\b0x([0-9a-f]+)", i.operands)]
            operation = i.opcode.split(".")[0]
            if operation == "BSSY":
                barriers[i.operands.split(",")[0].strip()] = at.get(numbers[-1])
            always = not i.guard and not re.match(r"!?U?P\d", i.operands)
            if i.opcode.startswith("BRA.DIV"):  # lanes that do not go together
                continue
            if operation in ("BRA", "JMP") and numbers:
                jumps[n] = ([at.get(numbers[-1])], always)
            elif operation in ("EXIT", "RET", "BRX", "KILL"):
                jumps[n] = ([], always)
            elif operation == "BSYNC" and barriers.get(i.operands.strip()) is not None:
                jumps[n] = ([barriers[i.operands.strip()]], always)
        starts = sorted({0} | {n + 1 for n in jumps} | {t for targets, _ in jumps.values() for t in targets if t is not None})
        starts = [s for s in starts if s < len(instructions)]
        index = {start: b for b, start in enumerate(starts)}
        self.next, self.bytes, self.vectors, self.cost = [], [], [], []
        for b, start in enumerate(starts):
            end = starts[b + 1] if b + 1 < len(starts) else len(instructions)
            targets, always = jumps.get(end - 1, ([], False))
            following = [index[t] for t in targets if t is not None]
            if not always and end < len(instructions):
                following.append(index[end])
            inside = [i for i in instructions[start:end] if i.opcode != "NOP"]
            widths = [w for w in map(width, inside) if w >= narrowest]
            self.next.append(following)
            self.bytes.append(sum(widths))
            self.vectors.append(len(widths))
            self.cost.append(sum(CALL_COSTS if i.opcode.startswith("CALL") else 1 for i in inside))


def strong_components(nodes, following):
    """Tarjan's, in reverse topological order."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in nodes:
        if root in number:
            continue
        work = [(root, iter(following[root]))]
        number[root] = low[root] = len(number)
        stack.append(root), on_stack.add(root)
        while work:
            node, rest = work[-1]
            for child in rest:
                if child not in number:
                    number[child] = low[child] = len(number)
                    stack.append(child), on_stack.add(child)
                    work.append((child, iter(following[child])))
                    break
                if child in on_stack:
                    low[node] = min(low[node], number[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component = set()
                    while node not in component:
                        component.add(top := stack.pop())
                        on_stack.discard(top)
                    found.append(component)
    return found


def best_path(blocks, nodes, entry, loops):
    """The most bytes, and of such ways the fewest instructions, from the entry to where `nodes` are left or begin anew; adds the loops in
    it to `loops`: (bytes, vectors, instructions) once round each."""
    following = {n: [c for c in blocks.next[n] if c in nodes and c != entry] for n in nodes}
    best = {}  # of a block: (bytes, -instructions, vectors) from there on
    leaves = lambda n: not blocks.next[n] or any(c not in nodes or c == entry for c in blocks.next[n])
    for component in strong_components([entry], following):
        beyond = [best[c] for n in component for c in following[n] if c not in component]
        if any(leaves(n) for n in component):
            beyond.append((0, 0, 0))
        rest = max(beyond, default=(0, 0, 0))
        first = next(iter(component))
        if len(component) > 1 or first in following[first]:
            entries = [n for n in component if any(n in following[m] for m in following if m not in component)] or [min(component)]
            inside = best_path(blocks, component, min(entries), loops)
            loops.append((inside[0], inside[2], -inside[1]))
            own = inside
        else:
            own = (blocks.bytes[first], -blocks.cost[first], blocks.vectors[first])
        total = tuple(a + b for a, b in zip(own, rest))
        for n in component:
            best[n] = total
    return best[entry]


def measure(name, instructions, registers):
    blocks = Blocks(instructions, 16 if "double" in name else 8)
    loops = []
    whole = best_path(blocks, set(range(len(blocks.next))), 0, loops)
    ways = [loop for loop in loops if loop[0] > 0] or [(whole[0], whole[2], -whole[1])]
    moved, vectors, cost = max(ways, key=lambda way: way[2] / max(way[0], 1))
    return Figures(registers, vectors, 16 * cost / moved if moved else 0)


def faults(instructions, stack):
    def are(what, pattern):
        which = sorted({i.opcode for i in instructions if re.match(pattern, i.opcode)})
        return [f"{what}: {', '.join(which)}"] if which else []

    found = are("memory of a thread's own", r"(LDL|STL)\b") + are("accesses to any memory", r"(LD|ST|ATOM)(\.|$)") + are("compare-and-swap", r".*CAS")
    return found + ([f"{stack} bytes of stack"] if stack and not found else [])


def read_bounds(path):
    """Pattern to Figures, of which None is not bounded."""
    rows = {}
    for line in pathlib.Path(path).read_text().split("\n"):
        if fields := line.split("#")[0].rsplit(None, 3):
            rows[fields[0].strip()] = Figures(*(None if f == "-" else float(f) for f in fields[1:]))
    return rows


def main():
    folder, bounds_path = sys.argv[1:3]
    is_measuring = "--measure" in sys.argv
    bounds = {} if is_measuring else read_bounds(bounds_path)
    objects, used, wrong, largest = sorted(pathlib.Path(folder).glob("*.cu.o")), set(), [], {}
    for path in objects:
        listed = output("cuobjdump", "-lelf", path)
        for architecture in sorted(set(re.findall(r"\.(sm_\w+)\.cubin", listed))):
            for name, (instructions, registers, stack) in kernels_of(path, architecture).items():
                figures = measure(name, instructions, registers)
                say = lambda what: wrong.append(f"{name} ({path.name}, {architecture}): {what}")
                for fault in faults(instructions, stack):
                    say(fault)
                before = largest.get(name, figures)
                largest[name] = Figures(max(before[0], registers), min(before[1], figures[1]), max(before[2], figures[2]))
                row = next((r for r in bounds if fnmatch.fnmatchcase(name, r.replace("[", "[[]"))), None)
                if is_measuring:
                    continue
                if row is None:
                    say(f"has no row in {bounds_path}; add: {name}  {registers}  {figures.vectors or '-'}  {figures.instructions:.1f}")
                    continue
                used.add(row)
                registers_bound, vectors, instructions_bound = bounds[row]
                if registers_bound is not None and registers > registers_bound:
                    say(f"{registers} registers, of which it may have {registers_bound:g}")
                if vectors is not None and figures.vectors < vectors:
                    say(f"{figures.vectors} vector accesses in its loop, of which it is to have {vectors:g}")
                if instructions_bound is not None and not 0 < figures.instructions <= instructions_bound:
                    say(f"{figures.instructions:.1f} instructions for 16 bytes, of which it may have {instructions_bound:g}")
    if is_measuring:
        for name, (registers, vectors, per_vector) in sorted(largest.items()):
            print(f"{name:60s} {registers:3d} {vectors:3d} {per_vector:6.1f}")
    wrong += [f"{row}: a row of {bounds_path} that no kernel has" for row in bounds if row not in used]
    if not largest:
        wrong.append(f"{folder}: no kernels")
    print("\n".join(wrong) if wrong else f"{len(largest)} kernels are as {bounds_path} says")
    sys.exit(1 if wrong else 0)


main()
