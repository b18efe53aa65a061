"""Training of the reader's head: labels, features, the model, its report."""
