"""What happens between turns.

Each cycle is a module with `check(life)`, which tells without a model and without writing whether
anything is due, and `run(life, job)`, which may ask the model, writes nothing, and says what is to
be written.
"""
