# Sourced by cases that run the commands that documents show. The convention:
#
#   ```console          Lines that begin with `$ ` are commands; a `\` at the end, or `> ` on the next line, continues one.
#                       All other lines are sample output.
#   ```console exit=5   The last command of the fence ends with exit code 5, all others with 0.
#   ```console gpu      Not run, but counted. The marks are in $not_run below.
#   ```text             Output alone, drawings, syntax.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# gpu: needs a GPU. site: a cluster, or a site's own paths. network: downloads. build: builds dt or needs sudo, which CI does by itself.
not_run=(gpu site network build)

# Open MPI refuses root and more ranks than cores unless told that both are meant.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# Documents say mpirun, whatever the launcher of the tools' MPI is called.
if [[ ${DT_MPI:-openmpi} != openmpi ]]; then
  mkdir "$case_dir/launcher"
  # shellcheck disable=SC2016 # for the script; a link would not find MPICH's proxy
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$DT_MPIEXEC" >"$case_dir/launcher/mpirun"
  chmod +x "$case_dir/launcher/mpirun"
  PATH=$case_dir/launcher:$PATH
fi

shell_languages='^(|sh|bash|zsh|shell|shell-session|shellsession|terminal)$'
indented_command='^(    |	)(\$ |(\.ci/make|make|mpirun|srun|sbatch|dt-[a-z-]+|cmake|sudo|git|export|cd|bash|jobs/.*|tests/.*|datasets/.*)( |$))'

# list_documents ROOT: sets the array documents, paths relative to the repository's root.
list_documents() {
  [[ -f $1/README.md ]] || skip "there are no documents here"
  # shellcheck disable=SC2034 # for cases
  mapfile -t documents < <(cd "$1" && find README.md .github cmd datasets jobs libcore tests -name '*.md' 2>/dev/null | sort)
}

# refuse NAME LINE PROBLEM
refuse() {
  echo "$1:$2: $3" >&2
  refused=$((refused + 1))
}

# open_fence NAME LINE INFO: sets language, mark and code of the fence that begins here.
open_fence() {
  local word words
  read -ra words <<<"$3"
  language=${words[0]:-} mark='' code=0
  if [[ $language =~ $shell_languages ]]; then
    refuse "$1" "$2" "a fence of '$language': commands stand in \`\`\`console, output in \`\`\`text"
  fi
  [[ $language = console ]] || return 0
  for word in "${words[@]:1}"; do
    if [[ $word =~ ^exit=([0-9]+)$ ]]; then
      code=${BASH_REMATCH[1]}
    elif [[ " ${not_run[*]} " == *" $word "* ]]; then
      mark=$word
    else
      refuse "$1" "$2" "'$word' is no mark: ${not_run[*]} exit=N"
    fi
  done
}

# read_commands FILE NAME: sets the arrays commands, command_lines, command_marks and command_codes, and refused, the number of violations.
read_commands() {
  local name=$2 number=0 line before='' inside=no language='' mark='' code=0 continues=no first=0
  commands=() command_lines=() command_marks=() command_codes=() refused=0
  while IFS= read -r line || [[ -n $line ]]; do
    number=$((number + 1))
    if [[ $line =~ ^\ *\`\`\`(.*)$ && $inside = no ]]; then
      open_fence "$name" "$number" "${BASH_REMATCH[1]}"
      inside=yes first=${#commands[@]} continues=no
    elif [[ $line =~ ^\ *\`\`\`$ ]]; then
      inside=no
      if [[ $language = console ]]; then
        if ((${#commands[@]} == first)); then
          refuse "$name" "$number" 'a console fence without a command, which begins with "$ "'
        else
          command_codes[-1]=$code
        fi
      fi
    elif [[ $inside = no ]]; then
      if [[ -z $before && $line =~ $indented_command ]]; then
        refuse "$name" "$number" "an indented command: commands stand in \`\`\`console"
      fi
    elif [[ $language = console ]]; then
      if [[ $continues = yes || (${#commands[@]} -gt $first && $line == '> '*) ]]; then
        commands[-1]+=$'\n'${line#> }
      elif [[ $line == '$ '* ]]; then
        commands+=("${line#\$ }") command_lines+=("$number") command_marks+=("$mark") command_codes+=(0)
      else
        continue # sample output
      fi
      continues=no
      [[ $line != *\\ ]] || continues=yes
    elif [[ $line == '$ '* ]]; then
      refuse "$name" "$number" "a command in a fence of '$language': commands stand in \`\`\`console"
    fi
    before=$line
  done <"$1"
  [[ $inside = no ]] || refuse "$name" "$number" "a fence is not closed"
  for first in "${!commands[@]}"; do
    bash -n <<<"${commands[first]}" 2>/dev/null || refuse "$name" "${command_lines[first]}" "not a command of bash: ${commands[first]}"
  done
  ((refused == 0))
}

# run_commands NAME: runs what read_commands read, in one shell and in this folder; stops at the first that ends otherwise than shown.
run_commands() (
  set +eu
  for ((document_i = 0; document_i < ${#commands[@]}; ++document_i)); do
    [[ -z ${command_marks[document_i]} ]] || continue
    eval "${commands[document_i]}" >"$case_dir/output" 2>&1 </dev/null
    document_code=$?
    if ((document_code != command_codes[document_i])); then
      echo "$1:${command_lines[document_i]}: exit $document_code, not ${command_codes[document_i]}: ${commands[document_i]}" >&2
      tail -n 20 "$case_dir/output" >&2
      exit 1
    fi
  done
)

# run_document FILE NAME: in a fresh folder that has the repository's folders, and then tells how many commands ran.
run_document() {
  local folder mark number told='' start=$SECONDS
  read_commands "$1" "$2" || return 1
  ((${#commands[@]} > 0)) || return 0
  folder=$(mktemp -d -p "$case_dir")
  ln -s "$(realpath "$DT_TESTS/..")"/{cmd,datasets,jobs,libcore,tests} "$folder"
  (cd "$folder" && HOME=$folder run_commands "$2") || return 1
  for mark in "${not_run[@]}"; do
    number=$(printf '%s\n' "${command_marks[@]}" | grep -cx "$mark") || continue
    told+=", $number $mark"
  done
  number=$(printf '%s\n' "${command_marks[@]}" | grep -cx '') || true
  printf '%-40s %3d ran in %3d s%s\n' "$2" "$number" $((SECONDS - start)) "${told:+; not run: ${told#, }}"
  rm -rf "$folder"
}

# anchors FILE: the anchors that GitHub gives to its headings.
anchors() {
  awk '/^```/ {fence = !fence} !fence && /^#+ / {sub(/^#+ +/, ""); print tolower($0)}' "$1" | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# check_links ROOT [REGEX]: fails unless every link of its documents, or every one that matches, leads to a file, and to a heading where it
# names one.
check_links() {
  local document target path anchor file failed=0
  list_documents "$1"
  for document in "${documents[@]}"; do
    while read -r target; do
      path=${target%%#*} anchor=''
      [[ $target != *#* ]] || anchor=${target#*#}
      file=$1/$document
      [[ -z $path ]] || file=$(dirname "$file")/$path
      if [[ ! -e $file ]]; then
        echo "$document: no such file: $target" >&2
      elif [[ -n $anchor ]] && ! grep -qx -- "$anchor" < <(anchors "$file"); then
        echo "$document: no such heading: $target" >&2
      else
        continue
      fi
      failed=1
    done < <(awk '/^```/ {fence = !fence} !fence' "$1/$document" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' | grep -vE '^[a-z]+:' | grep -E "${2:-.}" || true)
  done
  ((failed == 0)) || fail "links lead nowhere"
}
