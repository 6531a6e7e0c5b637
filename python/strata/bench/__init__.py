"""Timing beside other libraries: one process per library and number of threads, visited in turn."""
