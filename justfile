# `just` runs what CI runs.
default: format-check lint types test docs

# Rewrite the code in the project's format.
format:
    uv run ruff format .
    uv run ruff check --fix .

format-check:
    uv run ruff format --check .

lint:
    uv run ruff check .

types:
    uv run mypy

test *args:
    uv run pytest -n 2 {{args}}

# What the gate leaves out: whole sweeps, long lives, more examples of every property.
slow *args:
    BUMBLE_TESTS=whole uv run pytest -n 2 -m "slow or property or sampled" {{args}}

# The generated pages still say what the code does.
docs:
    uv run python -m bumble.cli.reference --check docs

# Build, look into, install and try what would be released; uploads nothing.
release *args:
    uv run python -m release {{args}}

# Write docs/licences.md anew from metadata.
licences:
    uv run python -m release.licences

# Every pinned dependency with its hashes, for who installs from those alone; names no index.
pins:
    uv export -q --no-emit-project --no-dev --all-extras --no-header -o dist/requirements.txt

# The documentation as a site, in dist/site; a link that leads nowhere ends it.
site:
    uv run --group site python -m release.site
