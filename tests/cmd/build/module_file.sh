#!/usr/bin/env bash
# Lmod loads the installed module file and takes it back, also a copy of it elsewhere.
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
lmod=${LMOD_PKG:-/usr/share/lmod/lmod}
[[ -f $lmod/init/bash ]] || skip "Lmod is not installed: lmod"
prefix=$PWD/opt/dt
expect_exit 0 cmake --install "$DT_BUILD" --component documents --prefix "$prefix"
module=$(echo "$prefix"/share/dt/modulefiles/dt/*.lua)
version=$(basename "$module" .lua)

# in_shell SHELL COMMANDS: in a shell that has `module`, and little else.
in_shell() {
  expect_exit 0 env -i HOME="$PWD" PATH=/usr/bin:/bin LMOD_ALLOW_ROOT_USE=yes "$1" -c ". '$lmod/init/$1'; $2"
}
# shellcheck disable=SC2016 # for the shell
show='echo "${DT_BIN-none} $PATH $MANPATH $XDG_DATA_DIRS"'
system='/usr/local/share:/usr/share'

in_shell bash "module use $prefix/share/dt/modulefiles; module load dt; $show; man -w dt-formats; manpath; module unload dt; $show"
expect_equal "$(sed -n 1p stdout)" "$prefix/bin $prefix/bin:/usr/bin:/bin $prefix/share/man:: $prefix/share:$system"
expect_equal "$(sed -n 2p stdout)" "$prefix/share/man/man5/dt-formats.5"
expect_match stdout "^$prefix/share/man:.*/usr/share/man"
expect_equal "$(tail -n 1 stdout)" "none /usr/bin:/bin :: $system"

# What a user had stays.
in_shell bash "export MANPATH=/m XDG_DATA_DIRS=/x; module use $prefix/share/dt/modulefiles; module load dt; $show; module unload dt; $show"
expect_equal "$(sed -n 1p stdout)" "$prefix/bin $prefix/bin:/usr/bin:/bin $prefix/share/man:/m $prefix/share:/x"
expect_equal "$(sed -n 2p stdout)" "none /usr/bin:/bin /m /x"

# A copy of the file elsewhere, beside another version: one replaces the other.
mkdir -p site/dt
cp "$module" site/dt/
sed "s|^\(local root = .* or \).*|\1\"$PWD/other\"|" "$module" >site/dt/9.lua
in_shell bash "module use $PWD/site; module load dt/$version; $show; module load dt/9; $show; module -t list 2>&1"
expect_match stdout "^$prefix/bin $prefix/bin:/usr/bin:/bin "
expect_match stdout "^$PWD/other/bin $PWD/other/bin:/usr/bin:/bin "
expect_equal "$(grep -c '^dt/' stdout)" 1 "versions that are loaded"

command -v zsh >/dev/null || skip "the module file is not tried in zsh, which is not installed"
# shellcheck disable=SC2016 # for the shell
in_shell zsh "n=\$#fpath; module use $prefix/share/dt/modulefiles; module load dt; echo \$fpath[1] \$((\$#fpath - n)); module unload dt; echo \$((\$#fpath - n))"
expect_equal "$(cat stdout)" "$prefix/share/zsh/site-functions 1"$'\n'0
