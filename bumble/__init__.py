"""The toolkit that gives an AI entity a life in a folder."""

__version__ = "0.1.0"
