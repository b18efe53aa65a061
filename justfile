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

# The generated pages still say what the code does.
docs:
    uv run python -m bumble.cli.reference --check docs
