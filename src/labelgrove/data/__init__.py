"""Readers and writers of the field's data formats, streaming and strict.

Every reader yields chunks of :class:`Examples`. Malformed input raises a
:class:`labelgrove.FileFormatError` that names the file and the line.
"""

from labelgrove.data._columns import Columns
from labelgrove.data._convert import convert
from labelgrove.data._examples import Examples
from labelgrove.data._mapped import Dataset, open_dataset
from labelgrove.data._reader import ExampleReader, open_examples, read_examples
from labelgrove.data._repository import read_filter_pairs, read_inverse_propensities
from labelgrove.data._sniff import FORMATS
from labelgrove.data._vectors import read_vectors
from labelgrove.data._writer import write_examples

__all__ = [
    "FORMATS",
    "Columns",
    "Dataset",
    "ExampleReader",
    "Examples",
    "convert",
    "open_dataset",
    "open_examples",
    "read_examples",
    "read_filter_pairs",
    "read_inverse_propensities",
    "read_vectors",
    "write_examples",
]
