#!/usr/bin/env python3
"""each.py SCRIPT: runs another script here once for each line of standard input, which has its arguments.

Libraries that take seconds to load are loaded once. Prints each line's arguments before what the script prints.
Exit codes: 0, or that of the first line that the script fails.
"""

import runpy
import shlex
import sys

script = sys.argv[1]
for line in sys.stdin:
    print(line.strip(), end=": ", flush=True)
    sys.argv = [script, *shlex.split(line)]
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    if code:
        sys.exit(code)
    sys.stdout.flush()
