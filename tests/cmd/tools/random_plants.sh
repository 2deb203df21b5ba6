#!/usr/bin/env bash
# What another user has put under names that the tools make is neither followed, removed nor believed: a few names and kinds that once
# were. long_random_plants.sh has many.
exec python3 "$DT_TESTS/cmd/plants.py" fixed
