# Sourced by cases in which two unprivileged users share a machine: $victim runs dt, $attacker plants files. Needs root.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # names for the case, and case_dir of lib.sh
[[ $(id -u) = 0 ]] || skip "needs root to act as two users"
victim=60001
attacker=60002

# The build may lie where only root can look.
mkdir "$case_dir/bin"
for tool in dt-train dt-shard-data dt-checkpoint dt-merge; do cp "$(command -v "$tool")" "$case_dir/bin"; done
chmod 755 "$case_dir" "$case_dir/bin"
PATH=$case_dir/bin:$PATH

# as USER COMMAND...
as() { setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all "${@:2}"; }

# as_job USER COMMAND...: in the background; $locker is the command's own process, so that kill ends it.
as_job() {
  setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all "${@:2}" >/dev/null 2>&1 &
  locker=$!
}

# make_home USER DIR: a folder of the user's own that others may read.
make_home() { install -d -m 755 -o "$1" -g "$1" "$2"; }
