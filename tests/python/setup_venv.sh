#!/usr/bin/env bash
# setup_venv.sh VENV_DIR [FILE]: the Python environment of the tests, as requirements.txt, or FILE beside it, says.
# Does nothing when VENV_DIR already has it; several may run at once.
# Needs the Debian packages python3-venv and python3-torch.
# Exit codes: 0 ok, 2 usage, 4 a Debian package or the package index is missing.
set -euo pipefail

fail() {
  echo "setup_venv.sh: $2" >&2
  exit "$1"
}

[[ $# -ge 1 && $# -le 2 && $1 != -* && -n $1 ]] || fail 2 "usage: setup_venv.sh VENV_DIR [FILE]"
venv=${1%/}
requirements=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/${2:-requirements.txt}
stamp=$venv/requirements.installed

if cmp -s "$requirements" "$stamp"; then exit 0; fi
# The venv is made afresh, so never over a directory that is something else.
if [[ -e $venv && ! -e $venv/pyvenv.cfg && -n $(ls -A "$venv") ]]; then
  fail 2 "$venv: exists and is not a virtual environment"
fi
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
if cmp -s "$requirements" "$stamp"; then exit 0; fi

for module in ensurepip:python3-venv torch:python3-torch; do
  /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('${module%:*}') is None)" ||
    fail 4 "Debian package ${module#*:} is missing"
done

export PYTHONNOUSERSITE=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
/usr/bin/python3 -m venv --clear --system-site-packages "$venv" >"$log" 2>&1 ||
  fail 4 "cannot make $venv: $(tail -n 1 "$log")"
if ! "$venv/bin/python" -m pip install --quiet --retries 2 --disable-pip-version-check \
  --only-binary :all: -r "$requirements" >"$log" 2>&1; then
  if grep -qE 'from versions: none|Max retries|Retrying|timed out' "$log"; then
    fail 4 "pip cannot reach a package index"
  fi
  fail 4 "pip failed: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log")"
fi
cp "$requirements" "$stamp.new"
mv "$stamp.new" "$stamp"
