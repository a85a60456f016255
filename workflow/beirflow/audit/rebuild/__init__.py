"""Checks of the files for reading, such as report and tables: each is made again and compared."""
