#!/usr/bin/env bash
# bundle.sh BUILD OUT: a folder that runs wherever it is put, on a machine with a GPU and glibc as new as here, and OUT.tar.xz of it: the
# tools, the tests that compute on GPUs, the tools' cases, golden data, and the shared libraries that a bare machine lacks. BUILD has tests and CUDA.
# DT_SHAKESPEARE names a text that one of them trains on, which is not part of the project.
set -euo pipefail
build=${1:?usage: bundle.sh BUILD OUT} out=${2:?usage: bundle.sh BUILD OUT}
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
most_bytes=$((60 << 20))

programs=("$build"/bin/{dt-train,dt-shard-data,dt-checkpoint,dt-merge,dt-allreduce-bench})
programs+=("$build"/bin/gpu_{tensor,comm,kernels,model,parallel,train,equivalence,bench,rates})
programs+=("$(command -v h5diff)") # that cases compare files with
for program in "${programs[@]}"; do
  [[ -x $program ]] || { echo "bundle.sh: $program is missing; what is for GPUs takes nvcc" >&2 && exit 1; }
done

rm -rf "$out" "$out.tar.xz"
mkdir -p "$(dirname "$out")"
mkdir "$out" # anew: what another user puts there meanwhile is in the way
mkdir -p "$out"/{bin,lib,tests,torch,mpi/plugins}
cp "${programs[@]}" "$out/bin"
# Open MPI's launcher and what MPI loads, but for what takes libraries of networks.
cp -L "$(command -v orterun)" "$(command -v orted)" "$out/mpi"
plugins=$(ompi_info --path pkglibdir --parsable | cut -d : -f 3)
find "$plugins" -name 'mca_*.so' | grep -vE '_(ofi|ucx|usnic|openib|psm2?|monitoring|portals4)\.so$' | xargs cp -t "$out/mpi/plugins"
programs+=("$out"/mpi/orte* "$out"/mpi/plugins/*)
cp -r "$tests/cmd" "$tests/golden" "$out/tests"
if [[ -f ${DT_SHAKESPEARE:-} ]]; then cp "$DT_SHAKESPEARE" "$out/tests/tinyshakespeare.txt"; fi
cp "$tests"/bench/table/torch_{models,step}.py "$out/torch"
install -m 755 "$tests/gpu/gpu-check.sh" "$out"

# CUDA's own libraries are not among those copied: programs load them when they need them.
bash "$tests/../libcore/bundle_libraries.sh" "$out/lib" '' "${programs[@]}" >/dev/null
strip --strip-debug "$out"/bin/* "$out"/mpi/orte* "$out"/mpi/plugins/*
origin="\$ORIGIN" # for the loader: where the file is that needs another
patchelf --set-rpath "$origin/../lib" "$out"/bin/* "$out"/mpi/orte*
patchelf --set-rpath "$origin/../../lib" "$out"/mpi/plugins/*
cat >"$out/bin/mpirun" <<'END'
#!/usr/bin/env bash
# Open MPI's, told where it lies.
OPAL_PREFIX=$(cd "$(dirname "${BASH_SOURCE[0]}")/../mpi" && pwd)
export OPAL_PREFIX OPAL_BINDIR=$OPAL_PREFIX OPAL_PKGLIBDIR=$OPAL_PREFIX/plugins OPAL_PKGDATADIR=$OPAL_PREFIX OPAL_SYSCONFDIR=$OPAL_PREFIX
export OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_pcompress_base_silence_warning=1
exec "$OPAL_PREFIX/orterun" "$@"
END
chmod 755 "$out/bin/mpirun"

# The programs have most of their code in common: where the compressor remembers a whole one, the others cost little.
tar -C "$(dirname "$out")" -cf - "$(basename "$out")" | xz --lzma2=preset=1,dict=64MiB >"$out.tar.xz"
bytes=$(stat -c %s "$out.tar.xz")
if ((bytes > most_bytes)); then echo "bundle.sh: $out.tar.xz has $bytes bytes, more than $most_bytes" >&2 && exit 1; fi
echo "$out.tar.xz: $((bytes >> 20)) MiB, of $(du -sm "$out" | cut -f 1) MiB; on a machine with a GPU: gpu-check.sh in it"
