#!/usr/bin/env bash
# A thousand random plants of another user, at every name that the tools make or open in shared folders. PLANTS_SEED: of the choice.
exec python3 "$DT_TESTS/cmd/plants.py" "${PLANTS:-1000}" "${PLANTS_SEED:-1}"
