"""Choosing what is worth remembering: by rules first, then by one label a message."""
