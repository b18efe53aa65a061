"""What a model can be trusted with, by purpose and language, as a probe has measured it."""
