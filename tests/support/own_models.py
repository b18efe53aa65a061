"""A model of the user's own catalog, small enough to be copied."""

from __future__ import annotations

import hashlib

CONTENT = b"the weights of a model " * 5000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def entry(name: str, source: str) -> str:
    """One model of a user's catalog."""
    return f"""
  - name: {name}
    kind: chat
    summary: A model of the user's own
    licence: MIT
    context_tokens: 4096
    memory_mb: 100
    files:
      - name: model.gguf
        bytes: {len(CONTENT)}
        sha256: {SHA256}
        sources:
          - {source}
    chat:
      {{thinking: none, temperature: 0.4}}
"""
