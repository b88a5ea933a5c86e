"""The version, apart from the package, so that any layer can name it."""

__version__ = "0.1.0"
