"""Topics: what the memories are about, found without a model; the questions they keep raising."""
