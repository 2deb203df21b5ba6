#!/usr/bin/env bash
# as_node.sh N COMMAND…: under a launcher of ranks, each N ranks on a host of their own, as far as its name tells. As root.
# shellcheck disable=SC2016
exec unshare --uts bash -c 'hostname "$0" && exec "$@"' "node$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / $1))" "${@:2}"
