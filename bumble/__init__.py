"""The toolkit that gives an AI entity a life in a folder; holds the version, nothing else."""

__version__ = "0.1.0"
