"""Training of the reader's head: labels, features, the model, the report. No part of the package."""
