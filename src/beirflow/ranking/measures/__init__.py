"""The measures, a file for each or for some of one origin.

A new measure is a new file here, and nothing else: a function of a ranking and a cutoff k with the decorator ``@measure`` of
``registry.py``. The module's docstring has formula and source; the first line of the function's is what lists show.
"""
